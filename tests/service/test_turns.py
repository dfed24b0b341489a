"""Turns are taken in order, a few in a round, and nobody is forgotten."""

import asyncio

from corml.service.endpoint import Turns


def test_turns_come_in_order_and_others_are_heard_between_them():
    async def run():
        turns, done, rounds = Turns(at_once=3), [], []

        async def work(number):
            await turns.take()
            done.append(number)

        tasks = [asyncio.create_task(work(number)) for number in range(20)]
        while not all(task.done() for task in tasks):
            before = len(done)
            await asyncio.sleep(0)
            rounds.append(len(done) - before)
        return done, rounds

    done, rounds = asyncio.run(run())
    assert done == list(range(20))
    assert max(rounds) <= 6  # those of one round, and those who were free to go at once
    assert len(rounds) >= 5


def test_who_goes_away_gives_the_turn_to_the_next():
    async def run():
        turns = Turns(at_once=1)
        tasks = [asyncio.create_task(turns.take()) for _ in range(6)]
        await asyncio.sleep(0)
        for task in tasks[2:4]:
            task.cancel()
        await asyncio.wait(tasks, timeout=5)
        return [task.cancelled() for task in tasks]

    assert asyncio.run(run()) == [False, False, True, True, False, False]


def test_turns_go_on_after_a_pause():
    async def run():
        turns = Turns(at_once=2)
        for _ in range(3):
            await asyncio.wait_for(asyncio.gather(*(turns.take() for _ in range(7))), 5)
            await asyncio.sleep(0.01)

    asyncio.run(run())

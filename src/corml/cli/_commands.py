"""The commands: one file each, listed without importing any, imported when its command runs."""

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from importlib.abc import InspectLoader
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from corml import plugins

PACKAGE = "corml.cli"

# As a newcomer would use them; a command that is not listed here comes after these.
ORDER = (
    "demo data plan fit update recommend similar explain why-not evaluate compare tune "
    "reproduce report studio serve export verify inspect models metrics"
).split()


class Commands(TyperGroup):
    """The root command: names and short help come from the text of the files, so that showing them is fast."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast(Any, Files())

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in their order of use."""
        return list(self.commands)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """What TAB offers: names with their short help, without importing the commands."""
        self.commands = {name: TyperCommand(name, help=short_help(name)) for name in self.commands}
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Names and short help, uncut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help(name)) for name in self.commands])


class Files(Mapping[str, Any]):
    """The commands by name; looking one up imports its file."""

    def __getitem__(self, name: str) -> Any:
        if name not in list(self):
            raise KeyError(name)
        command = plugins.get(PACKAGE, name)
        group = typer.Typer(add_completion=False, rich_markup_mode=None)
        group.callback()(lambda: None)  # makes a group of a single command
        if isinstance(command, typer.Typer):
            group.add_typer(command, name=name)
        else:
            group.command(name)(command)
        return cast(TyperGroup, typer.main.get_command(group)).commands[name]

    def __iter__(self) -> Iterator[str]:
        names = (name.replace("_", "-") for name in plugins.names(PACKAGE))
        return iter(sorted(names, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name)))

    def __len__(self) -> int:
        return len(plugins.names(PACKAGE))


def short_help(name: str) -> str:
    """First line of a command's help, which is that of the first function in its file."""
    module = f"{PACKAGE}.{name.replace('-', '_')}"
    spec = importlib.util.find_spec(module)
    assert spec is not None
    source = cast(InspectLoader, spec.loader).get_source(module)
    functions = (node for node in ast.parse(source or "").body if isinstance(node, ast.FunctionDef))
    return (ast.get_docstring(next(functions)) or "").partition("\n")[0]

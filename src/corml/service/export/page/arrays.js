// The arrays in this page. Each is base64 of deflated bytes: all first bytes of its numbers, then all second ones, …,
// because equal bytes side by side deflate best.

const KINDS = { u2: Uint16Array, u4: Uint32Array, f4: Float32Array };

export const contents = () => JSON.parse(document.getElementById("contents").textContent);

export async function array(name) {
  const { textContent, dataset } = document.getElementById(`array-${name}`);
  const Kind = KINDS[dataset.kind], size = Kind.BYTES_PER_ELEMENT;
  const planes = await inflated(Uint8Array.from(atob(textContent), (letter) => letter.charCodeAt(0)));
  const bytes = new Uint8Array(planes.length), count = planes.length / size;
  for (let plane = 0; plane < size; plane += 1) {
    for (let at = 0; at < count; at += 1) bytes[at * size + plane] = planes[plane * count + at];
  }
  return new Kind(bytes.buffer);
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

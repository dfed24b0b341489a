// Sparse matrices of items × items: `columns` and `values` of row i stand from starts[i] to starts[i + 1], sorted.

// As the page has them: how long rows are, how far each column is from the one before, and the values.
export function unpacked(lengths, gaps, values) {
  const starts = new Uint32Array(lengths.length + 1), columns = new Uint16Array(gaps.length);
  for (let row = 0, at = 0; row < lengths.length; row += 1) {
    for (let column = 0, end = at + lengths[row]; at < end; at += 1) columns[at] = column += gaps[at];
    starts[row + 1] = at;
  }
  return { starts, columns, values };
}

// A symmetric matrix from what stands above its diagonal.
export function mirrored({ starts, columns, values }) {
  const count = starts.length - 1, ends = new Uint32Array(count + 1);
  for (let row = 0; row < count; row += 1) {
    ends[row + 1] += starts[row + 1] - starts[row];
    for (let at = starts[row]; at < starts[row + 1]; at += 1) ends[columns[at] + 1] += 1;
  }
  for (let row = 0; row < count; row += 1) ends[row + 1] += ends[row];
  const whole = { starts: ends, columns: new Uint16Array(2 * columns.length), values: new Float32Array(2 * columns.length) };
  const next = ends.slice(); // rows come in order, so what is left of the diagonal comes before what is right of it
  const put = (row, column, value) => { whole.columns[next[row]] = column; whole.values[next[row]] = value; next[row] += 1; };
  for (let row = 0; row < count; row += 1) {
    for (let at = starts[row]; at < starts[row + 1]; at += 1) put(columns[at], row, values[at]);
  }
  for (let row = 0; row < count; row += 1) {
    for (let at = starts[row]; at < starts[row + 1]; at += 1) put(row, columns[at], values[at]);
  }
  return whole;
}

export function scaled({ starts, columns, values }, byRow, byColumn) {
  const product = new Float32Array(values.length);
  for (let row = 0; row < starts.length - 1; row += 1) {
    for (let at = starts[row]; at < starts[row + 1]; at += 1) product[at] = values[at] * byColumn[columns[at]] * byRow[row];
  }
  return { starts, columns, values: product };
}

export function entry({ starts, columns, values }, row, column) {
  let low = starts[row], high = starts[row + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (columns[middle] < column) low = middle + 1; else high = middle;
  }
  return low < starts[row + 1] && columns[low] === column ? values[low] : 0;
}

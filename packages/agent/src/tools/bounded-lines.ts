import type { Readable } from "node:stream";

/** A line without its end; of one beyond the bound only the beginning. */
export interface BoundedLine {
  text: string;
  isCut: boolean;
}

/** The lines of a stream, of which none can fill the memory. */
export async function* boundedLines(stream: Readable, maxLineBytes: number): AsyncGenerator<BoundedLine> {
  let pieces: Buffer[] = [];
  let heldBytes = 0;
  let isCut = false;
  const hold = (piece: Buffer) => {
    const fitting = piece.subarray(0, maxLineBytes - heldBytes);
    isCut ||= fitting.length < piece.length;
    heldBytes += fitting.length;
    if (fitting.length > 0) pieces.push(fitting);
  };
  const take = (): BoundedLine => {
    const line = { text: Buffer.concat(pieces).toString(), isCut };
    pieces = [];
    heldBytes = 0;
    isCut = false;
    return line;
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      hold(chunk.subarray(from, at));
      yield take();
      from = at + 1;
    }
    hold(chunk.subarray(from));
  }
  if (heldBytes > 0) yield take();
}

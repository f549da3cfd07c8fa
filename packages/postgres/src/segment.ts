import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** A row of the table of segments. */
export interface Segment {
  /** PostgreSQL sends 64-bit numbers as text. */
  from_byte: string;
  to_byte: string;
  codec: number;
  data: Buffer;
}

const PLAIN = 0;
const ZSTD = 1;
/** A shorter segment fits into a page, and is compressed when it is joined: its own compression takes a third of the append. */
const MIN_COMPRESSED_BYTES = 2_000;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 6 } };

/** Compresses whole lines. */
export function packSegment(raw: Buffer): Pick<Segment, "codec" | "data"> {
  const packed = raw.length < MIN_COMPRESSED_BYTES ? raw : zstdCompressSync(raw, LEVEL);
  return packed.length < raw.length ? { codec: ZSTD, data: packed } : { codec: PLAIN, data: raw };
}

export function unpackSegment({ codec, data }: Pick<Segment, "codec" | "data">): Buffer {
  return codec === ZSTD ? zstdDecompressSync(data) : data;
}

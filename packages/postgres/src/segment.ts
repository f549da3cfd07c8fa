import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { type Database, query } from "./database.ts";
import { notFound } from "./refusals.ts";

/** Bytes of a session's file: `from` up to `until`. */
export interface ByteRange {
  from: number;
  until: number;
}

/** A row of the table of segments. */
interface Segment {
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

function unpackSegment({ codec, data }: Segment): Buffer {
  return codec === ZSTD ? zstdDecompressSync(data) : data;
}

/** Bytes of one answer of the database. */
const READ_BYTES = 1 << 22;

/** Reads the segments of ranges, in order. No byte comes twice. */
export async function* storedParts(
  database: Database,
  id: string,
  ranges: readonly ByteRange[],
): AsyncGenerator<{ bytes: Buffer; from: number }> {
  let done = 0;
  for (const { from, until } of ranges)
    for (let at = Math.max(from, done); at < until; at = Math.max(at, done)) {
      const rows = await query<Segment>(
        database,
        `select from_byte, to_byte, codec, data from bonsai.segments
         where session_id = $1 and to_byte > $2 and from_byte < $3 order by from_byte`,
        [id, at, Math.min(until, at + READ_BYTES)],
      );
      if (rows.length === 0) throw notFound(id, ` from byte ${at} on`);
      for (const row of rows) {
        const start = Number(row.from_byte);
        if (start > Math.max(at, done)) throw notFound(id, ` from byte ${done} on`);
        // The writer can join segments between two statements: the second answer begins with bytes of the first.
        const known = Math.max(0, done - start);
        yield { bytes: unpackSegment(row).subarray(known), from: start + known };
        done = Number(row.to_byte);
      }
    }
}

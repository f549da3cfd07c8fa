import { codeLine, logLine, proseLine } from "./made-text.ts";
import { type Random, seededRandom } from "./random.ts";

/**
 * Endless text of one kind, as the inside of a JSON string. It is made once and then only sliced at line
 * ends, so that a gigabyte of it costs seconds.
 */
export interface TextPool {
  /** About `bytes` bytes of whole lines, escaped for JSON, without the quotes. */
  take(random: Random, bytes: number): string;
}

export interface TextPools {
  prose: TextPool;
  code: TextPool;
  log: TextPool;
}

const POOL_BYTES = 1 << 20;
let pools: TextPools | undefined;

/** The pools of this process: the same in every process, whatever was taken before. */
export function textPools(): TextPools {
  const random = seededRandom(20_260_105);
  pools ??= {
    prose: textPool(() => proseLine(random)),
    code: textPool(() => codeLine(random)),
    log: textPool(() => logLine(random)),
  };
  return pools;
}

function textPool(line: () => string): TextPool {
  const starts: number[] = [];
  let text = "";
  while (text.length < POOL_BYTES) {
    starts.push(text.length);
    text += `${JSON.stringify(line()).slice(1, -1)}\\n`;
  }
  const averageLineBytes = text.length / starts.length;
  const take = (random: Random, bytes: number): string => {
    const lines = Math.max(1, Math.min(starts.length - 1, Math.round(bytes / averageLineBytes)));
    const from = random.int(starts.length - lines);
    return text.slice(starts[from], starts[from + lines]);
  };
  return { take };
}

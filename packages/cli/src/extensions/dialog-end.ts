import type { DialogOptions } from "@bonsai-agent/extension";

/** A timer cannot wait longer. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Aborted when a question is over without an answer: its own signal, its timeout, or the end of the whole. */
export function dialogEnd(ended: AbortSignal, { signal, timeout }: DialogOptions = {}): AbortSignal {
  const ends = [ended];
  if (signal !== undefined) ends.push(signal);
  if (timeout !== undefined && timeout > 0)
    ends.push(AbortSignal.timeout(Math.min(timeout, longestTimeoutMs)));
  return AbortSignal.any(ends);
}

/** What comes first: the answer, or undefined at the abort. */
export async function untilAborted<Answer>(
  answer: Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  // Nobody looks at it any more: its failure is nobody's.
  answer.catch(() => {});
  if (signal.aborted) return undefined;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const end = () => resolve(undefined);
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([answer, promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

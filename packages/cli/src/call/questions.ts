import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import type { SetTimer } from "@bonsai-agent/lifecycle";

const longestTimeoutMs = 2 ** 31 - 1;

/** Aborts a question at its own signal, its timeout, or the end of all. */
export function dialogEnd(ended: AbortSignal, { signal, timeout }: DialogOptions = {}): AbortSignal {
  const ends = [ended];
  if (signal !== undefined) ends.push(signal);
  if (timeout !== undefined && timeout > 0)
    ends.push(AbortSignal.timeout(Math.min(timeout, longestTimeoutMs)));
  return AbortSignal.any(ends);
}

/** Runs tasks one after the other, also after a failure. */
export function oneAfterTheOther(): <Answer>(ask: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const answer = last.then(ask);
    last = answer.catch(() => {});
    return answer;
  };
}

type PauseDuring = <Args extends unknown[], Answer>(ask: Asked<Args, Answer>) => Asked<Args, Answer>;

type Asked<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/**
 * Wraps a UI, and makes timers that do not run out while a question is open: the user's thinking does not make an
 * extension slow.
 */
export function pauseTimersWhileAsking<UI extends FrontEndUI | undefined>(
  ui: UI,
): { ui: UI; setTimer: SetTimer; pauseDuring: PauseDuring } {
  let open = 0;
  const pauseDuring: PauseDuring =
    (ask) =>
    async (...args) => {
      open += 1;
      try {
        return await ask(...args);
      } finally {
        open -= 1;
      }
    };
  const setTimer: SetTimer = (callback, delayMs) => {
    const begin = (): NodeJS.Timeout =>
      setTimeout(() => {
        if (open === 0) callback();
        else timer = begin();
      }, delayMs).unref();
    let timer = begin();
    return () => clearTimeout(timer);
  };
  if (ui === undefined) return { ui, setTimer, pauseDuring };
  const { select, confirm, input, editor, custom } = ui;
  const asks = {
    ...(custom === undefined ? {} : { custom: pauseDuring(custom) as typeof custom }),
    select: pauseDuring(select),
    confirm: pauseDuring(confirm),
    input: pauseDuring(input),
    editor: pauseDuring(editor),
  };
  return { ui: { ...ui, ...asks }, setTimer, pauseDuring };
}

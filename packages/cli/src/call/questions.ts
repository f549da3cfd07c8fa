import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import type { SetTimer } from "@bonsai-agent/lifecycle";

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

/** Tools run side by side; a user answers one question at a time. */
export function oneAfterTheOther(): <Answer>(ask: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const answer = last.then(ask);
    last = answer.catch(() => {});
    return answer;
  };
}

/** Has timers stand still while such a question is open. */
type CountAsked = <Args extends unknown[], Answer>(ask: Asked<Args, Answer>) => Asked<Args, Answer>;

type Asked<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/**
 * A user interface whose questions are counted, and a timer for handlers that does not run out while one is open: no
 * extension is called slow because its user takes the time to think.
 */
export function pauseTimersWhileAsking<UI extends FrontEndUI | undefined>(
  ui: UI,
): { ui: UI; setTimer: SetTimer; counted: CountAsked } {
  let open = 0;
  const counted: CountAsked =
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
  if (ui === undefined) return { ui, setTimer, counted };
  const { select, confirm, input, editor, custom } = ui;
  const asks = {
    ...(custom === undefined ? {} : { custom: counted(custom) as typeof custom }),
    select: counted(select),
    confirm: counted(confirm),
    input: counted(input),
    editor: counted(editor),
  };
  return { ui: { ...ui, ...asks }, setTimer, counted };
}

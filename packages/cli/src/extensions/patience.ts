import type { FrontEndUI } from "@bonsai-agent/extension";
import type { SetTimer } from "@bonsai-agent/lifecycle";

type Asked<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** A user interface whose questions are counted, and a timer for handlers that does not run out while one is open. */
export interface Patience<UI> {
  ui: UI;
  setTimer: SetTimer;
}

/** So that no extension is called slow because its user takes the time to think. */
export function patience<UI extends FrontEndUI | undefined>(ui: UI): Patience<UI> {
  let open = 0;
  const counted =
    <Args extends unknown[], Answer>(ask: Asked<Args, Answer>): Asked<Args, Answer> =>
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
  if (ui === undefined) return { ui, setTimer };
  const { select, confirm, input, editor, custom } = ui;
  const asks = {
    ...(custom === undefined ? {} : { custom: counted(custom) as typeof custom }),
    select: counted(select),
    confirm: counted(confirm),
    input: counted(input),
    editor: counted(editor),
  };
  return { ui: { ...ui, ...asks }, setTimer };
}

import type { ExtensionUI } from "../api/extension-ui.ts";
import { type DrawnComponent, plainTheme } from "../host/drawn-component.ts";
import type { FrontEndUI } from "../host/extension-host.ts";

/** One answer for every question of its kind, one for each in order, or a function that looks at what was asked. */
export type TestDialogAnswer<Asked extends (...args: never[]) => Promise<unknown>> =
  | Awaited<ReturnType<Asked>>
  | readonly Awaited<ReturnType<Asked>>[]
  | ((...args: Parameters<Asked>) => Awaited<ReturnType<Asked>> | ReturnType<Asked>);

/** What the user says to questions. What is absent is answered as if the user had left the question. */
export interface TestDialogAnswers {
  select?: TestDialogAnswer<ExtensionUI["select"]>;
  confirm?: TestDialogAnswer<ExtensionUI["confirm"]>;
  input?: TestDialogAnswer<ExtensionUI["input"]>;
  editor?: TestDialogAnswer<ExtensionUI["editor"]>;
  /**
   * What the user does at a component of `custom`: looks at it with `render`, presses keys with `handleInput`, by the
   * name of what they stand for, like `tui.select.confirm`. Where that does not end it, it is left once this has ended.
   */
  custom?: (component: DrawnComponent) => void | Promise<void>;
}

/** A call of `ctx.ui`, as it was made. */
export interface UICall {
  method: keyof ExtensionUI;
  args: readonly unknown[];
}

type Dialog = Exclude<keyof TestDialogAnswers, "custom">;

/** What the user would say who leaves every question. */
const left = { select: undefined, confirm: false, input: undefined, editor: undefined };

/** A user whose answers are written down beforehand; each call is kept in `calls`. */
export function scriptedUi(answers: TestDialogAnswers, calls: UICall[]): FrontEndUI {
  let editorText = "";
  const record = (method: keyof ExtensionUI, args: readonly unknown[]) => {
    calls.push({ method, args });
  };
  const asked = (method: Dialog) => {
    let count = 0;
    return async (...args: never[]): Promise<never> => {
      record(method, args);
      const answer = answers[method] as unknown;
      if (typeof answer === "function") return answer(...args) as never;
      if (!Array.isArray(answer)) return (answer ?? left[method]) as never;
      if (count >= answer.length) throw new Error(`No answer ${count + 1} to a ${method} is written down.`);
      return answer[count++] as never;
    };
  };
  return {
    select: asked("select"),
    confirm: asked("confirm"),
    input: asked("input"),
    editor: asked("editor"),
    theme: plainTheme,
    custom: (make, options) =>
      new Promise((resolve, reject) => {
        record("custom", [options]);
        const using = async () => {
          const component = await make({ tui, keybindings, done: resolve });
          await answers.custom?.(component);
          component.dispose();
          resolve(undefined);
        };
        using().catch(reject);
      }),
    notify: (...args) => record("notify", args),
    setStatus: (...args) => record("setStatus", args),
    setWidget: (...args) => record("setWidget", args),
    setTitle: (...args) => record("setTitle", args),
    setEditorText(text) {
      record("setEditorText", [text]);
      editorText = text;
    },
    getEditorText: () => editorText,
  };
}

const tui = { requestRender() {}, terminal: { columns: 80, rows: 24 } };
/** Keys are pressed by the name of what they stand for. */
const keybindings = { matches: (data: string, action: string) => data === action, getKeys: () => [] };

import type { ExtensionUI } from "../api/extension-ui.ts";

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
}

/** A call of `ctx.ui`, as it was made. */
export interface UICall {
  method: keyof ExtensionUI;
  args: readonly unknown[];
}

type Dialog = keyof TestDialogAnswers;

/** What the user would say who leaves every question. */
const left = { select: undefined, confirm: false, input: undefined, editor: undefined };

/** A user whose answers are written down beforehand; each call is kept in `calls`. */
export function scriptedUi(answers: TestDialogAnswers, calls: UICall[]): ExtensionUI {
  let editorText = "";
  const told = (method: keyof ExtensionUI, args: readonly unknown[]) => {
    calls.push({ method, args });
  };
  const asked = (method: Dialog) => {
    let count = 0;
    return async (...args: never[]): Promise<never> => {
      told(method, args);
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
    notify: (...args) => told("notify", args),
    setStatus: (...args) => told("setStatus", args),
    setWidget: (...args) => told("setWidget", args),
    setTitle: (...args) => told("setTitle", args),
    setEditorText(text) {
      told("setEditorText", [text]);
      editorText = text;
    },
    getEditorText: () => editorText,
  };
}

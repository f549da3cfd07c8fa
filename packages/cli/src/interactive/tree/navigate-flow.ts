import type { NavigateOptions } from "@bonsai-agent/agent";
import type { InteractiveWork } from "../interactive-work.ts";
import { errorText } from "../session/error-text.ts";
import { editorKept, fillEditor } from "./fill-editor.ts";

/**
 * Goes to an entry of the tree. Esc cancels, and then nothing has changed; a failure is told, and nothing has changed
 * either.
 */
export async function navigateFlow(
  work: InteractiveWork,
  targetId: string,
  options: Pick<NavigateOptions, "summarise" | "focus">,
): Promise<void> {
  const { agent } = work.host;
  try {
    const { status, editorText } = await work.interruptible((signal) =>
      agent.navigate(targetId, { ...options, signal }),
    );
    if (status === "cancelled") {
      work.tell({ level: "info", message: "Cancelled: you are where you were." });
      return;
    }
    if (status === "moved") work.chat.rebuild(agent.session);
    if (editorText !== undefined && editorText !== "") {
      if (!fillEditor(work, editorText)) work.tell({ level: "info", message: editorKept });
    } else if (status === "unchanged") work.tell({ level: "info", message: alreadyHere });
  } catch (error) {
    work.tell({ level: "error", message: `${errorText(error)}\nYou are where you were.` });
  }
}

export const alreadyHere = "You are there already.";

import type { NavigateOptions } from "@bonsai-agent/agent";
import type { InteractiveWork } from "../interactive-work.ts";
import { errorText } from "../session/error-text.ts";
import { fillEditor } from "./fill-editor.ts";
import { sentMessage } from "./sent-message.ts";

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
    const { images } = sentMessage(agent.session, targetId);
    if (editorText !== undefined && (editorText !== "" || images > 0))
      fillEditor(work, { text: editorText, images });
    else if (status === "unchanged") work.tell({ level: "info", message: alreadyHere });
  } catch (error) {
    work.tell({ level: "error", message: `${errorText(error)}\nYou are where you were.` });
  }
}

export const alreadyHere = "You are there already.";

import type { NavigateOptions } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import { errorText } from "../error-text.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { fillEditor } from "./fill-editor.ts";
import { sentMessage } from "./sent-message.ts";

/**
 * Goes to an entry of the tree. Esc cancels, and then nothing has changed; a failure is told, and nothing has changed
 * either.
 * @returns false where the summary failed: it can be asked for in another way
 */
export async function navigateFlow(
  work: InteractiveWork,
  targetId: string,
  options: Pick<NavigateOptions, "summarise" | "focus" | "useDigest">,
): Promise<boolean> {
  const { agent } = work.host;
  try {
    const { status, editorText } = await work.interruptible((signal) =>
      agent.navigate(targetId, { ...options, signal }),
    );
    if (status === "cancelled") {
      work.tell({ level: "info", message: "Cancelled: you are where you were.", attempt: "move" });
      return true;
    }
    if (status === "moved") work.chat.rebuild(agent.session, "move");
    const { images } = sentMessage(agent.session, targetId);
    if (editorText !== undefined && (editorText !== "" || images > 0))
      fillEditor(work, { text: editorText, images });
    else if (status === "unchanged") work.tell({ level: "info", message: alreadyHere });
  } catch (error) {
    const isSummary = BonsaiError.is(error) && error.code === "branch_summary_failed";
    // That failure says itself that nothing was moved.
    const where = isSummary ? "" : "\nYou are where you were.";
    work.tell({ level: "error", message: `${errorText(error)}${where}`, attempt: "move" });
    return !isSummary;
  }
  return true;
}

export const alreadyHere = "You are there already.";

import type { InteractiveWork } from "../interactive-work.ts";
import { lostImagesText, type SentMessage, typedMessage } from "../prompt/typed-message.ts";

/**
 * Puts a message of the user's into the editor as it was typed, where nothing is typed yet. What cannot come back is
 * told.
 */
export function fillEditor({ editor, host, tell }: InteractiveWork, sent: SentMessage): void {
  const message = typedMessage(sent, host.workshop.cwd);
  if (message.text !== "" && !editor.offerText(message.text)) tell({ level: "info", message: editorKept });
  const lost = lostImagesText(message);
  if (lost !== undefined) tell({ level: "info", message: lost });
}

const editorKept =
  "What you had typed stays in the editor; the message is one key up, and still in the tree.";

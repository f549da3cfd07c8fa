import type { InteractiveWork } from "../interactive-work.ts";

/** Puts a text into the editor where nothing is typed yet. @returns false where something was, which stays */
export function fillEditor({ editor }: InteractiveWork, text: string): boolean {
  return editor.offerText(text);
}

/** What is told where the editor was not empty. */
export const editorKept =
  "What you had typed stays in the editor; the message is one key up, and still in the tree.";

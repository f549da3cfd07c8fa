import type { InteractiveWork } from "../interactive-work.ts";

/** Puts a text into the editor where nothing is typed yet. @returns false where something was, which stays */
export function fillEditor({ editor, screen }: InteractiveWork, text: string): boolean {
  if (editor.getText().trim() !== "") return false;
  editor.setText(text);
  screen.redraw();
  return true;
}

/** What is told where the editor was not empty. */
export const editorKept = "What you had typed stays in the editor; the message is still in the tree.";

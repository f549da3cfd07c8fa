import type { PromptEditor } from "../prompt/prompt-editor.ts";

/** Puts texts that were not sent into the editor again, before what has been typed since. */
export function bringBack(editor: PromptEditor, texts: readonly string[]): void {
  const typed = editor.getExpandedText();
  const parts = [...texts, typed].filter((text) => text.trim() !== "");
  if (texts.length > 0) editor.setText(parts.join("\n\n"));
}

import type { Theme } from "../theme/theme.ts";
import type { CodeHighlighter } from "./code-highlighter.ts";

/** What every block of the chat is drawn with. */
export interface ChatLooks {
  readonly theme: Theme;
  readonly highlighter: CodeHighlighter;
}

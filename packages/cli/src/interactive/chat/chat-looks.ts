import type { ChatDrawings } from "../extension-views/chat-drawings.ts";
import type { Theme } from "../theme/theme.ts";
import type { ChatImages } from "./chat-images.ts";
import type { CodeHighlighter } from "./code-highlighter.ts";

/** What every block of the chat is drawn with. */
export interface ChatLooks {
  readonly theme: Theme;
  readonly highlighter: CodeHighlighter;
  readonly images: ChatImages;
  /** How extensions draw what is theirs. Default: they do not. */
  readonly drawings?: ChatDrawings | undefined;
  /** The name of the key that unfolds, as the user has bound it. */
  readonly expandKey: () => string;
}

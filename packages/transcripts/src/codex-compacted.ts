import { contentText } from "@bonsai-agent/messages";
import { OPAQUE_ITEMS } from "./codex-items.ts";
import { type Fields, listAt, stringAt } from "./fields.ts";
import { isInjectedText } from "./injected.ts";
import type { Step } from "./step.ts";

/** User messages that a summary-only compaction takes along: the newest, up to this many characters. */
const CARRIED_USER_CHARS = 80_000;

/** How a summary begins when it is restated as a user message. */
const SUMMARY_OPENING = "Another language model started to solve this problem";

/**
 * What the model saw after a compaction: the summary and the items carried over beside it. Undefined
 * when that is encrypted.
 * @param path the steps before it, oldest first.
 */
export function readCompacted(
  compacted: Fields,
  path: readonly Step[],
): { summary: string; carried: Fields[] } | undefined {
  const history = listAt(compacted, "replacement_history");
  const message = stringAt(compacted, "message") ?? "";
  if (history.some((item) => OPAQUE_ITEMS.has(item.type))) return undefined;
  if (history.length === 0)
    return message === "" ? undefined : { summary: message, carried: userItems(path) };
  const summaryItem = history.findLast((item) => isSummary(item, message));
  return {
    summary: summaryItem === undefined ? message : itemText(summaryItem),
    carried: history.filter((item) => item !== summaryItem),
  };
}

/** The user's own messages since the last compaction: the newest that fit. */
function userItems(path: readonly Step[]): Fields[] {
  const items: Fields[] = [];
  let chars = 0;
  for (const { draft } of path.toReversed()) {
    if (draft.type === "compaction") break;
    if (draft.type !== "message" || draft.message.role !== "user") continue;
    const text = contentText(draft.message.content);
    if (chars + text.length > CARRIED_USER_CHARS) break;
    chars += text.length;
    items.unshift({ type: "message", role: "user", content: text });
  }
  return items;
}

/** True for the item of a replacement history that holds the summary. */
function isSummary(item: Fields, message: string): boolean {
  if (item.type !== "message") return false;
  const text = itemText(item);
  return (
    text.startsWith(SUMMARY_OPENING) || (message !== "" && text.includes(message) && !isInjectedText(text))
  );
}

function itemText(item: Fields): string {
  return contentText(
    Array.isArray(item.content)
      ? listAt(item, "content").map((part) => ({ ...part, type: "text" }))
      : item.content,
  );
}

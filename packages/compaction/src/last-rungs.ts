import { contentBlocks, type UserContent } from "@bonsai-agent/messages";
import { clip } from "./clip.ts";
import { type PlannedEdit, type ViewItem, viewTokens, withEdits } from "./context-view.ts";
import type { LadderContext, LadderState, Rung } from "./rung.ts";

/** Lengths that tool results are cut to, in characters: the longest that suffices is taken. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];

/** Replaces images by a mark. */
export const dropMediaRung: Rung = {
  name: "media",
  applies: (state, context) => mayLose(state, context) && keptItems(state).some(hasMedia),
  async attempt(state) {
    return edited(state, keptItems(state).filter(hasMedia).map(withoutMedia));
  },
};

/** Cuts the largest remaining tool results to head and tail; then, if need be, pasted text. */
export const truncateRung: Rung = {
  name: "truncate",
  applies: (state, context) => mayLose(state, context) && keptItems(state).some(mayTruncate(state)),
  async attempt(state, { targetTokens = 0 }) {
    let next = state;
    for (const chosen of [isToolResult, mayTruncate(state)]) {
      for (const chars of TRUNCATED_CHARS) {
        next = edited(
          state,
          keptItems(state)
            .filter(chosen)
            .flatMap((item) => truncated(item, chars)),
        );
        if (next.tokens <= targetTokens) return next;
      }
    }
    return next;
  },
};

/** Losing recent content is for an overflow, or for a summary that did not free enough. */
function mayLose(state: LadderState, { reason }: LadderContext): boolean {
  return reason === "overflow" || (reason === "threshold" && state.summary !== undefined);
}

/** What stays in the context: with a summary, the part that it keeps. */
function keptItems({ view, summary }: LadderState): readonly ViewItem[] {
  if (summary === undefined) return view.items;
  return view.items.filter((item) => item.message.role !== "compactionSummary");
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

/** What people wrote is cut only where a summary stands already, and what is kept is too large by itself. */
function mayTruncate({ summary }: LadderState): (item: ViewItem) => boolean {
  return summary === undefined ? isToolResult : isEditable;
}

function isToolResult({ message }: ViewItem): boolean {
  return message.role === "toolResult";
}

/** A context edit can replace the content of these; a command's output or a summary has none. */
function isEditable({ message }: ViewItem): boolean {
  return message.role === "toolResult" || message.role === "user" || message.role === "custom";
}

function contentOf({ message }: ViewItem): UserContent[] {
  return ("content" in message ? contentBlocks(message.content) : []) as unknown as UserContent[];
}

function hasMedia(item: ViewItem): boolean {
  return isEditable(item) && contentOf(item).some((block) => block.type === "image");
}

function withoutMedia(item: ViewItem): PlannedEdit {
  const content = contentOf(item).map((block): UserContent => {
    return block.type === "image" ? { type: "text", text: `[image left out: ${block.mimeType}]` } : block;
  });
  return { entryId: item.entryId, kind: "media", content };
}

function truncated(item: ViewItem, maxChars: number): PlannedEdit[] {
  const blocks = contentOf(item);
  const share = Math.max(200, Math.floor(maxChars / Math.max(1, blocks.length)));
  if (!blocks.some((block) => block.type === "text" && block.text.length > share)) return [];
  const content = blocks.map((block): UserContent => {
    return block.type === "text" ? { ...block, text: clip(block.text, share) } : block;
  });
  return [{ entryId: item.entryId, kind: "truncate", content }];
}

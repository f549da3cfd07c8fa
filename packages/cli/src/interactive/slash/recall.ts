import { findRecalled } from "@bonsai-agent/agent";
import { textHead } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { hiddenLookup } from "@bonsai-agent/session/host";
import { bestLines, type RecallHit, recallHitTitle } from "../../views/recall-hit.ts";
import { summariesOf } from "../../views/summary-sources.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList, showList } from "../panels/pick-list.ts";
import { asPaste } from "../terminal/typed-input.ts";
import { openTree } from "../tree/flow.ts";
import { showSummarySources } from "./summary-sources.ts";

export const recallCommand: SlashCommand = {
  name: "recall",
  description: "Search the entries that the model no longer sees",
  argumentHint: "[text]",
  worksWhileBusy: true,
  run: (text, context) =>
    showList<RecallHit, void>(
      context.screen,
      (done) => new Recall(context, text, () => done(undefined)).list,
    ),
};

const MAX_HITS = 50;

/** Owner of the search in the entries that the model does not see, and of its hits. */
class Recall {
  readonly list: PickList<RecallHit>;
  readonly #context: InteractiveContext;
  readonly #session: Session;
  readonly #leave: () => void;
  #hasBranches = false;

  constructor(context: InteractiveContext, query: string, leave: () => void) {
    this.#context = context;
    this.#session = context.host.agent.session;
    this.#leave = leave;
    this.list = new PickList<RecallHit>({
      place: context.screen,
      title: this.#title,
      query,
      items: [],
      empty: "Type to search.",
      key: ({ entry }) => entry.entryId,
      text: ({ entry }) => entry.text,
      isFound: () => true,
      row: (hit) => ({ label: bestLines(hit), detail: oneLine(hit.entry.who, MAX_WHO) }),
      preview: (hit, width) => this.#preview(hit, width),
      picks: "open in tree",
      onPick: (hit) => this.#open(hit),
      onCancel: leave,
      search: (query, signal) => this.#search(query, signal),
      actions: [
        { key: "tab", does: "this branch or all", run: () => this.#toggleBranches() },
        { key: "ctrl+t", does: "insert", run: (hit) => hit && this.#insert(hit.entry.text) },
        { key: "ctrl+s", does: "summary sources", run: () => this.#showSources() },
      ],
    });
  }

  get #title(): string {
    return `Recall: entries the model does not see, ${this.#hasBranches ? "on all branches" : "on this branch"}`;
  }

  #toggleBranches(): void {
    this.#hasBranches = !this.#hasBranches;
    this.list.update({ title: this.#title, status: undefined });
    this.list.searchAgain();
  }

  async #search(query: string, signal: AbortSignal): Promise<void> {
    if (query.trim() === "") {
      this.list.setItems([]);
      return this.list.update({ empty: "Type to search.", status: undefined });
    }
    this.list.update({ empty: "No matches yet.", status: "Searching …" });
    const { hits, more } = await findRecalled({
      session: this.#session,
      search: this.#context.search,
      query,
      branches: this.#hasBranches,
      sessions: false,
      limit: MAX_HITS,
      signal,
    });
    signal.throwIfAborted();
    this.list.setItems(hits);
    if (hits[0] !== undefined) this.list.select(hits[0].entry.entryId);
    this.list.update({
      empty: this.#hasBranches
        ? "No matches."
        : "No hidden entry of this branch matches. Tab searches all branches.",
      status: more ? "More results exist. Add words to narrow the search." : undefined,
    });
  }

  #preview(hit: RecallHit, width: number): string[] {
    const { style } = this.#context.screen.theme;
    const {
      entry: { entryId, text },
      lines: [first = 1],
    } = hit;
    const reason = hiddenLookup(this.#session)(entryId)?.reason ?? "on another branch";
    const from = Math.max(0, first - 1 - LINES_BEFORE);
    const around = text.split("\n").slice(from, from + PREVIEW_LINES);
    const title = `${recallHitTitle(hit)}, ${reason}`;
    return [
      ...textLines(title, width).map(style.muted),
      ...textLines(textHead(around.join("\n"), PREVIEW_CHARS), width),
    ];
  }

  async #open({ entry: { entryId } }: RecallHit): Promise<void> {
    if (await openTree(this.#context, { atEntryId: entryId })) this.#leave();
  }

  async #showSources(): Promise<string | undefined> {
    if (summariesOf(this.#session).length === 0) return "This branch has no summary yet.";
    await showSummarySources(this.#context);
    return undefined;
  }

  /** Inserts at the cursor, as a paste: a long text is one mark there. */
  #insert(text: string): void {
    this.#leave();
    this.#context.editor.handleInput(asPaste(text));
    this.#context.screen.redraw();
  }
}

const LINES_BEFORE = 1;
const PREVIEW_LINES = 12;
/** A line may be a minified file. */
const PREVIEW_CHARS = 4_000;
const MAX_WHO = 24;

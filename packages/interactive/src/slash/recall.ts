import { type SourceEntry, sourceEntry, sourceWords } from "@bonsai-agent/app/summary-sources";
import { type HiddenEntry, hiddenEntry } from "@bonsai-agent/compaction";
import { entryTexts, type Session } from "@bonsai-agent/session";
import { parseSearchQuery, type SessionHit, SessionSearch } from "@bonsai-agent/session/search";
import { errorLine } from "../error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { pickLines } from "../panels/line-picker.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList } from "../panels/pick-list.ts";
import { asPaste } from "../terminal/typed-input.ts";
import { openTree } from "../tree/tree-navigation.ts";

export const recallCommand: SlashCommand = {
  name: "recall",
  description: "Find what left the model's view: open it in the tree, or put it into the editor",
  argumentHint: "[text]",
  async run(text, context) {
    let recall: RecallPanel | undefined;
    try {
      await context.screen.show<void>((done) => {
        recall = new RecallPanel(context, text, () => done(undefined));
        return recall.list;
      });
    } finally {
      recall?.close();
    }
  },
};

/** So long after a key that changes the query it is looked for: before that, another may come. */
const RESTING_MS = 120;
const MOST_HITS = 100;

/** Owner of what is looked for in what the session hides from the model, and of what was found. */
class RecallPanel {
  readonly list: PickList<SessionHit>;
  readonly #context: InteractiveContext;
  readonly #session: Session;
  readonly #search: SessionSearch;
  readonly #leave: () => void;
  readonly #entries = new Map<string, SourceEntry | undefined>();
  #hasBranches = false;
  #searching = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isActing = false;

  constructor(context: InteractiveContext, query: string, leave: () => void) {
    const { home, settings } = context.host.app;
    this.#context = context;
    this.#session = context.host.agent.session;
    this.#search = new SessionSearch({ home, index: settings.index.enabled });
    this.#leave = leave;
    this.list = new PickList<SessionHit>({
      place: context.screen,
      title: "",
      query,
      items: [],
      key: ({ entryId }) => entryId,
      text: ({ snippet }) => snippet,
      isFound: () => true,
      row: ({ snippet, entryId }) => ({ label: snippet, detail: this.#entry(entryId)?.kind }),
      preview: (hit, width) => this.#preview(hit, width),
      picks: "open in the tree",
      onPick: (hit) => this.#guard(() => this.#open(hit)),
      onCancel: leave,
      onQuery: () => this.#look(RESTING_MS),
      actions: [
        { key: "tab", does: "this path or all branches", run: () => this.#toggleBranches() },
        {
          key: "ctrl+t",
          does: "into the editor",
          run: (hit) => hit && this.#insert(textOf(this.#session, hit)),
        },
        {
          key: "ctrl+l",
          does: "lines of it",
          run: (hit) => hit && this.#guard(() => this.#insertLines(hit)),
        },
      ],
    });
    this.#titled();
    this.#look(0);
  }

  close(): void {
    this.#searching.abort();
    clearTimeout(this.#timer);
    this.#search.close();
  }

  #titled(): void {
    const place = this.#hasBranches ? "on all branches" : "on this path";
    this.list.update({ title: `Recall: what the model does not see, ${place}`, status: undefined });
  }

  #toggleBranches(): void {
    this.#hasBranches = !this.#hasBranches;
    this.#titled();
    this.#look(0);
  }

  /** Looks for the query, in small steps between which keys have their turn; what was looked for before counts no more. */
  #look(afterMs: number): void {
    this.#searching.abort();
    clearTimeout(this.#timer);
    const searching = new AbortController();
    this.#searching = searching;
    this.#timer = setTimeout(() => {
      this.#found(searching.signal).catch((error: unknown) => {
        if (!searching.signal.aborted) this.list.update({ status: errorLine(error) });
      });
    }, afterMs);
  }

  async #found(signal: AbortSignal): Promise<void> {
    const { terms } = parseSearchQuery(this.list.model.query);
    if (terms.length === 0) {
      this.list.setItems([]);
      return this.list.update({ empty: "Type what to look for.", status: undefined });
    }
    this.list.update({ status: "Searching …" });
    const options = {
      scope: { session: this.#session },
      limit: MOST_HITS,
      isWanted: this.#isWanted(),
      signal,
    };
    const { hits, more } = await this.#search.find({ terms }, options);
    signal.throwIfAborted();
    this.list.setItems(hits);
    this.list.update({
      empty: this.#emptyWords(),
      status: more ? "There are more: say more words." : undefined,
    });
  }

  #isWanted(): (entry: { entryId: string }) => boolean {
    if (!this.#hasBranches) return ({ entryId }) => this.#hidden(entryId) !== undefined;
    const shown = new Set(this.#session.projection().items.map(({ entryId }) => entryId));
    return ({ entryId }) => !shown.has(entryId) || this.#hidden(entryId) !== undefined;
  }

  #hidden(entryId: string): HiddenEntry | undefined {
    return hiddenEntry(this.#session, entryId);
  }

  #emptyWords(): string {
    return this.#hasBranches
      ? "Nothing found."
      : "Nothing found in what this path hides; Tab looks on all branches too.";
  }

  /** Read once: a list draws its rows again and again. */
  #entry(entryId: string): SourceEntry | undefined {
    if (!this.#entries.has(entryId)) this.#entries.set(entryId, sourceEntry(this.#session, entryId));
    return this.#entries.get(entryId);
  }

  #words(entryId: string): string {
    const entry = this.#entry(entryId);
    return entry === undefined ? "" : sourceWords(entry);
  }

  #preview(hit: SessionHit, width: number): string[] {
    const { style } = this.#context.screen.theme;
    const reason = this.#hidden(hit.entryId)?.reason ?? "on another branch";
    const lines = textOf(this.#session, hit).split("\n");
    const { terms } = parseSearchQuery(this.list.model.query);
    const from = Math.max(0, lineOf(lines, terms) - LINES_BEFORE);
    const around = lines.slice(from, from + PREVIEW_LINES).join("\n");
    return [
      ...textLines(`${this.#words(hit.entryId)}, ${reason}`, width).map(style.muted),
      ...textLines(around, width),
    ];
  }

  async #open({ entryId }: SessionHit): Promise<void> {
    if (await openTree(this.#context, { atEntryId: entryId })) this.#leave();
  }

  async #insertLines(hit: SessionHit): Promise<void> {
    const text = textOf(this.#session, hit);
    const { terms } = parseSearchQuery(this.list.model.query);
    const at = Math.max(0, lineOf(text.split("\n"), terms));
    const title = `Lines of ${this.#words(hit.entryId)}`;
    const chosen = await pickLines(this.#context.screen, { title, text, at, picks: "into the editor" });
    if (chosen !== undefined) this.#insert(chosen);
  }

  /** Where the cursor stands; a long text as a paste, which is one mark there. */
  #insert(text: string): void {
    this.#leave();
    this.#context.editor.handleInput(asPaste(text));
    this.#context.screen.redraw();
  }

  /** One thing at a time; what fails stands below the list. */
  #guard(act: () => Promise<void>): void {
    if (this.#isActing) return;
    this.#isActing = true;
    act()
      .catch((error: unknown) => this.list.update({ status: errorLine(error) }))
      .finally(() => {
        this.#isActing = false;
      });
  }
}

const LINES_BEFORE = 1;
const PREVIEW_LINES = 12;

function textOf(session: Session, { entryId }: SessionHit): string {
  const entry = session.entry(entryId);
  return entry === undefined ? "" : [...entryTexts(entry)].join("\n");
}

/** The first line that holds most of the terms; -1 for none. */
function lineOf(lines: readonly string[], terms: readonly string[]): number {
  const wanted = terms.map((term) => term.toLowerCase());
  let best = { at: -1, count: 0 };
  for (const [at, line] of lines.entries()) {
    const lower = line.toLowerCase();
    const count = wanted.filter((term) => lower.includes(term)).length;
    if (count > best.count) best = { at, count };
  }
  return best.at;
}

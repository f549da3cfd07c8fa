import { findRecalled } from "@bonsai-agent/agent";
import { textHead } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { hiddenLookup } from "@bonsai-agent/session/host";
import { summariesOf } from "../../views/summary-sources.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { errorLine } from "../error-text.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { pickLines } from "../panels/line-picker.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList } from "../panels/pick-list.ts";
import { asPaste } from "../terminal/typed-input.ts";
import { openTree } from "../tree/tree-navigation.ts";
import { showSummarySources } from "./summary-sources.ts";

export const recallCommand: SlashCommand = {
  name: "recall",
  description: "Search the entries that the model no longer sees",
  argumentHint: "[text]",
  worksWhileBusy: true,
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
const MOST_HITS = 50;

type Hit = Awaited<ReturnType<typeof findRecalled>>["hits"][number];

/** Owner of what is looked for in what the session hides from the model, and of what was found. */
class RecallPanel {
  readonly list: PickList<Hit>;
  readonly #context: InteractiveContext;
  readonly #session: Session;
  readonly #leave: () => void;
  #hasBranches = false;
  #searching = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #isActing = false;

  constructor(context: InteractiveContext, query: string, leave: () => void) {
    this.#context = context;
    this.#session = context.host.agent.session;
    this.#leave = leave;
    this.list = new PickList<Hit>({
      place: context.screen,
      title: "",
      query,
      items: [],
      key: ({ entry }) => entry.entryId,
      text: ({ entry }) => entry.text,
      isFound: () => true,
      row: (hit) => ({ label: linesOf(hit).join(" … "), detail: oneLine(hit.entry.who, MOST_WHO) }),
      preview: (hit, width) => this.#preview(hit, width),
      picks: "open in tree",
      onPick: (hit) => this.#guard(() => this.#open(hit)),
      onCancel: leave,
      onQuery: () => this.#look(RESTING_MS),
      actions: [
        { key: "tab", does: "this branch or all", run: () => this.#toggleBranches() },
        {
          key: "ctrl+t",
          does: "insert",
          run: (hit) => hit && this.#insert(hit.entry.text),
        },
        {
          key: "ctrl+l",
          does: "insert lines",
          run: (hit) => hit && this.#guard(() => this.#insertLines(hit)),
        },
        { key: "ctrl+s", does: "summary sources", run: () => this.#guard(() => this.#showSources()) },
      ],
    });
    this.#titled();
    this.#look(0);
  }

  close(): void {
    this.#searching.abort();
    clearTimeout(this.#timer);
  }

  #titled(): void {
    const place = this.#hasBranches ? "on all branches" : "on this branch";
    this.list.update({ title: `Recall: entries the model does not see, ${place}`, status: undefined });
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
    const { query } = this.list.model;
    if (query.trim() === "") {
      this.list.setItems([]);
      return this.list.update({ empty: "Type to search.", status: undefined });
    }
    this.list.update({ empty: "No matches yet.", status: "Searching …" });
    const { hits, count } = await findRecalled({
      session: this.#session,
      search: this.#context.search,
      query,
      branches: this.#hasBranches,
      sessions: false,
      limit: MOST_HITS,
      signal,
    });
    signal.throwIfAborted();
    this.list.setItems(hits);
    // Other words, other hits: the best of them is what was looked for.
    if (hits[0] !== undefined) this.list.model.select(hits[0].entry.entryId);
    const more = count > MOST_HITS ? "More results exist. Add words to narrow the search." : undefined;
    this.list.update({ empty: this.#emptyWords(), status: more });
  }

  #emptyWords(): string {
    return this.#hasBranches
      ? "No matches."
      : "No hidden entry of this branch matches. Tab searches all branches.";
  }

  #preview(hit: Hit, width: number): string[] {
    const { style } = this.#context.screen.theme;
    const { entryId, text } = hit.entry;
    const reason = hiddenLookup(this.#session)(entryId)?.reason ?? "on another branch";
    const from = Math.max(0, firstLine(hit) - LINES_BEFORE);
    const around = text
      .split("\n")
      .slice(from, from + PREVIEW_LINES)
      .join("\n");
    return [
      ...textLines(`${titleOf(hit)}, ${reason}`, width).map(style.muted),
      ...textLines(textHead(around, PREVIEW_CHARS), width),
    ];
  }

  async #open({ entry: { entryId } }: Hit): Promise<void> {
    if (await openTree(this.#context, { atEntryId: entryId })) this.#leave();
  }

  async #showSources(): Promise<void> {
    if (summariesOf(this.#session).length === 0)
      return this.list.update({ status: "This branch has no summary yet." });
    await showSummarySources(this.#context);
  }

  async #insertLines(hit: Hit): Promise<void> {
    const chosen = await pickLines(this.#context.screen, {
      title: `Lines of ${titleOf(hit)}`,
      text: hit.entry.text,
      at: firstLine(hit),
      picks: "insert",
    });
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
/** A line may be a minified file. */
const PREVIEW_CHARS = 4_000;
const MOST_WHO = 24;

const bestLines = new WeakMap<Hit, string[]>();

/** The lines of a hit that say most of what was asked for. Found once: a list draws its rows again and again. */
function linesOf(hit: Hit): string[] {
  const known = bestLines.get(hit);
  if (known !== undefined) return known;
  const all = hit.entry.text.split("\n");
  const best = hit.lines.map((line) => oneLine(all[line - 1] ?? "", 200));
  bestLines.set(hit, best);
  return best;
}

/** From 0. */
function firstLine({ lines: [first = 1] }: Hit): number {
  return first - 1;
}

function titleOf({ entry: { entryId, who, time } }: Hit): string {
  return `${entryId.slice(0, 8)} ${oneLine(who, 60)} ${time}`;
}

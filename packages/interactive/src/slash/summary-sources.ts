import { counted, moment } from "@bonsai-agent/app/numbers";
import {
  readableSources,
  type SourceEntry,
  sourceEntry,
  sourceWords,
  summariesOf,
} from "@bonsai-agent/app/summary-sources";
import { oneLine } from "@bonsai-agent/app/terminal-text";
import { readSummarySources, type SummaryEntry, type SummaryLine } from "@bonsai-agent/compaction/host";
import type { Session } from "@bonsai-agent/session";
import { betweenKeys } from "../between-keys.ts";
import { errorLine } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askPick } from "../panels/ask.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList, type PickRow } from "../panels/pick-list.ts";
import { truncateToWidth } from "../terminal/tui.ts";
import { openTree } from "../tree/tree-navigation.ts";

/** Shows the lines of the latest summary. Each opens its source entries in the tree. */
export async function showSummarySources(context: InteractiveContext): Promise<void> {
  const summaries = summariesOf(context.host.agent.session);
  if (summaries.length === 0) return context.notify("This branch has no summary yet.");
  let walk: SourcesWalk | undefined;
  try {
    await context.screen.show<void>((done) => {
      walk = new SourcesWalk(context, summaries, () => done(undefined));
      return walk.list;
    });
  } finally {
    walk?.close();
  }
}

/** A line of the summary that is shown; its entries are undefined until they were read. */
interface ShownLine extends Pick<SummaryLine, "text"> {
  at: number;
  source?: SummaryLine;
}

const MATCHED = "≈";
const LEGEND = `${MATCHED} marks a likely source, found by shared rare words`;

/** Owner of which summary is walked through, and of what is known of its lines. */
class SourcesWalk {
  readonly list: PickList<ShownLine>;
  readonly #context: InteractiveContext;
  readonly #session: Session;
  readonly #summaries: readonly SummaryEntry[];
  readonly #leave: () => void;
  readonly #entries = new Map<string, SourceEntry | undefined>();
  #at = 0;
  #stopReading = () => {};
  #isOpening = false;
  /** True once a line was selected of the summary that is shown. */
  #isPlaced = false;

  constructor(context: InteractiveContext, summaries: readonly SummaryEntry[], leave: () => void) {
    this.#context = context;
    this.#session = context.host.agent.session;
    this.#summaries = summaries;
    this.#leave = leave;
    this.list = new PickList<ShownLine>({
      place: context.screen,
      title: "",
      items: [],
      key: ({ at }) => String(at),
      text: ({ text }) => text,
      row: (line) => this.#row(line),
      preview: (line, width) => this.#preview(line, width),
      picks: "open in tree",
      onPick: (line) => this.#open(line),
      onCancel: leave,
      actions:
        summaries.length < 2
          ? []
          : [
              {
                key: "tab",
                does: "previous summary",
                run: () => this.#show((this.#at + 1) % summaries.length),
              },
            ],
    });
    this.#show(0);
  }

  close(): void {
    this.#stopReading();
  }

  #show(at: number): void {
    this.#stopReading();
    this.#at = at;
    const entry = this.#summaries[at]!;
    const kind = entry.type === "compaction" ? "Compaction" : "Branch summary";
    const which = this.#summaries.length < 2 ? "" : `, ${at + 1} of ${this.#summaries.length}`;
    const title = `${kind} of ${moment(Date.parse(entry.timestamp), this.#now())}${which}: sources of each line`;
    const lines = String(entry.summary).split("\n");
    this.list.setItems(shownLines(readableSources(lines.map((text) => ({ text })))));
    this.#isPlaced = false;
    this.list.update({ title, status: "Reading the summarised entries…" });
    this.#stopReading = betweenKeys(this.#reading(entry));
  }

  *#reading(entry: SummaryEntry): Generator<void> {
    const reading = readSummarySources(this.#session, entry);
    let shownPercent = -1;
    try {
      for (let step = reading.next(); ; step = reading.next()) {
        if (step.done === true) return this.#read(step.value);
        const { share, known } = step.value;
        const percent = Math.floor(share * 100);
        if (shownPercent < 0) this.#showSources(readableSources(known).map(withEntries));
        if (percent > shownPercent)
          this.list.update({ status: `Reading the summarised entries… ${percent}%` });
        shownPercent = percent;
        yield;
      }
    } catch (error) {
      this.list.update({ status: errorLine(error) });
    }
  }

  #read(sources: readonly SummaryLine[]): void {
    this.#showSources(readableSources(sources).map((source) => ({ text: source.text, source })));
    this.list.update({ status: sources.some(({ isMatched }) => isMatched) ? LEGEND : undefined });
  }

  /** The first line with an entry is selected, where the user has gone to none yet. */
  #showSources(sources: readonly Omit<ShownLine, "at">[]): void {
    const { model } = this.list;
    const hasMoved = model.position > 0 || model.query !== "";
    const lines = shownLines(sources);
    this.list.setItems(lines);
    const first = lines.find(({ source }) => (source?.entryIds.length ?? 0) > 0);
    if (this.#isPlaced || hasMoved || first === undefined) return;
    model.select(String(first.at));
    this.#isPlaced = true;
  }

  #row({ text, source }: ShownLine): PickRow {
    const { entryIds = [], isMatched = false } = source ?? {};
    if (entryIds.length === 0) return { label: text, isDim: true };
    const mark = isMatched ? `${MATCHED} ` : "";
    const [only] = entryIds;
    const detail =
      entryIds.length === 1 ? this.#shortWords(only!) : counted(entryIds.length, "entry", "entries");
    return { label: text, detail: `${mark}${detail}` };
  }

  #shortWords(entryId: string): string {
    const entry = this.#entry(entryId);
    return entry === undefined ? "" : `${entry.kind} ${entry.entryId.slice(0, 8)}`;
  }

  #preview({ text, source }: ShownLine, width: number): string[] {
    const { style } = this.#context.screen.theme;
    const { entryIds = [], isMatched = false } = source ?? {};
    const entries = entryIds.flatMap((id) => this.#entry(id) ?? []);
    const mark = isMatched ? MATCHED : " ";
    return [
      ...textLines(text.trim(), width).slice(0, 2),
      ...entries.map((entry) =>
        truncateToWidth(
          ` ${mark} ${style.muted(sourceWords(entry, this.#now()))}  ${oneLine(entry.preview)}`,
          width,
          "…",
        ),
      ),
    ];
  }

  #now(): number {
    return this.#context.host.app.call.io.now();
  }

  /** Read once: a list draws its rows again and again. */
  #entry(entryId: string): SourceEntry | undefined {
    if (!this.#entries.has(entryId)) this.#entries.set(entryId, sourceEntry(this.#session, entryId));
    return this.#entries.get(entryId);
  }

  #open({ source }: ShownLine): void {
    if (source === undefined || source.entryIds.length === 0) {
      const isKnown = source !== undefined;
      this.list.update({
        status: isKnown ? "This line has no known source." : "Still searching for the source of this line.",
      });
    } else if (!this.#isOpening) {
      this.#isOpening = true;
      this.#openEntries(source)
        .catch((error: unknown) => this.list.update({ status: errorLine(error) }))
        .finally(() => {
          this.#isOpening = false;
        });
    }
  }

  /** Of several entries, the one that is chosen. */
  async #openEntries({ text, entryIds }: SummaryLine): Promise<void> {
    const entries = entryIds.flatMap((id) => this.#entry(id) ?? []);
    const { panelsLeft } = this.#context.screen;
    while (!panelsLeft.aborted) {
      const entry = entries.length > 1 ? await this.#pickEntry(text, entries) : entries[0];
      if (entry === undefined) return;
      const hasGone = await openTree(this.#context, { atEntryId: entry.entryId });
      if (hasGone) this.#leave();
      if (hasGone || entries.length === 1) return;
    }
  }

  #pickEntry(text: string, entries: readonly SourceEntry[]): Promise<SourceEntry | undefined> {
    return askPick(this.#context.screen, {
      title: `Sources of: ${oneLine(text, 200)}`,
      items: entries,
      key: ({ entryId }) => entryId,
      text: ({ kind, preview }) => `${kind} ${preview}`,
      row: ({ kind, preview, timestamp }) => ({
        label: `${kind}  ${preview}`,
        detail: moment(Date.parse(timestamp ?? ""), this.#now()),
      }),
      picks: "open in tree",
    });
  }
}

/** What has no entry yet is still looked for. */
function withEntries(source: SummaryLine): Omit<ShownLine, "at"> {
  return { text: source.text, ...(source.entryIds.length > 0 && { source }) };
}

/** Without the blank ones, each with its number. */
function shownLines(lines: readonly Omit<ShownLine, "at">[]): ShownLine[] {
  return lines.map((line, at) => ({ ...line, at })).filter(({ text }) => text.trim() !== "");
}

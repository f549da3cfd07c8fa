import { summarySources } from "@bonsai-agent/compaction";
import type { SummaryEntry, SummaryLine } from "@bonsai-agent/compaction/host";
import type { Session } from "@bonsai-agent/session";
import { counted, moment } from "../../views/numbers.ts";
import {
  readableSources,
  type SourceEntry,
  sourceEntry,
  sourceWords,
  summariesOf,
} from "../../views/summary-sources.ts";
import { oneLine } from "../../views/terminal-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askPick } from "../panels/ask.ts";
import { textLines } from "../panels/panel-frame.ts";
import { PickList, type PickRow, showList } from "../panels/pick-list.ts";
import { truncateToWidth } from "../terminal/tui.ts";
import { openTree } from "../tree/flow.ts";

/** Shows the lines of the latest summary. Each opens its source entries in the tree. */
export async function showSummarySources(context: InteractiveContext): Promise<void> {
  const summaries = summariesOf(context.host.agent.session);
  if (summaries.length === 0) return context.notify("This branch has no summary yet.");
  await showList<ShownLine, void>(
    context.screen,
    (done) => new SourcesWalk(context, summaries, () => done(undefined)).list,
  );
}

/** A line of the shown summary that is not blank. */
interface ShownLine extends SummaryLine {
  at: number;
}

const MATCHED = "≈";
const LEGEND = `${MATCHED} marks a likely source: an entry with the same words`;

class SourcesWalk {
  readonly list: PickList<ShownLine>;
  readonly #context: InteractiveContext;
  readonly #session: Session;
  readonly #summaries: readonly SummaryEntry[];
  readonly #leave: () => void;
  readonly #entries = new Map<string, SourceEntry | undefined>();
  #at = 0;

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

  #show(at: number): void {
    this.#at = at;
    const entry = this.#summaries[at]!;
    const kind = entry.type === "compaction" ? "Compaction" : "Branch summary";
    const which = this.#summaries.length < 2 ? "" : `, ${at + 1} of ${this.#summaries.length}`;
    const title = `${kind} of ${moment(Date.parse(entry.timestamp), this.#now())}${which}: sources of each line`;
    const lines = this.#linesOf(entry);
    this.list.setItems(lines);
    const first = lines.find(({ entryIds }) => entryIds.length > 0);
    if (first !== undefined) this.list.select(String(first.at));
    this.list.update({ title, status: lines.some(({ isMatched }) => isMatched) ? LEGEND : undefined });
  }

  #linesOf(entry: SummaryEntry): ShownLine[] {
    return readableSources(summarySources(this.#session, entry))
      .map((line, at) => ({ ...line, at }))
      .filter(({ text }) => text.trim() !== "");
  }

  #row({ text, entryIds, isMatched }: ShownLine): PickRow {
    if (entryIds.length === 0) return { label: text, isDim: true };
    const [first] = entryIds;
    const entry = this.#entry(first!);
    const detail =
      entryIds.length > 1
        ? counted(entryIds.length, "entry", "entries")
        : entry === undefined
          ? ""
          : `${entry.kind} ${entry.entryId.slice(0, 8)}`;
    return { label: text, detail: `${isMatched ? `${MATCHED} ` : ""}${detail}` };
  }

  #preview({ text, entryIds, isMatched }: ShownLine, width: number): string[] {
    const { style } = this.#context.screen.theme;
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

  /** Cached: a list draws its rows again and again. */
  #entry(entryId: string): SourceEntry | undefined {
    if (!this.#entries.has(entryId)) this.#entries.set(entryId, sourceEntry(this.#session, entryId));
    return this.#entries.get(entryId);
  }

  /** Opens the source entry; the user chooses one of several. */
  async #open({ text, entryIds }: ShownLine): Promise<string | undefined> {
    const entries = entryIds.flatMap((id) => this.#entry(id) ?? []);
    if (entries.length === 0) return "This line has no known source.";
    const entry = entries.length > 1 ? await this.#pickEntry(text, entries) : entries[0];
    if (entry !== undefined && (await openTree(this.#context, { atEntryId: entry.entryId }))) this.#leave();
    return undefined;
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

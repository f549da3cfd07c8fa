import { costText } from "@bonsai-agent/messages";
import { type Entry, entryTexts, type Session, UsageCounter } from "@bonsai-agent/session";
import { type ChunkPlace, type EntryBody, type PageData, type RowKind, rowKinds } from "./page-data.ts";

export interface PageOptions {
  /** Replaces what looks like a key. Default: true */
  redact?: boolean;
  /** Keys that are stored: they are taken out too. */
  secrets?: readonly string[];
  /** Tokens of a model's window, and where a compaction is made by default. Default: unknown. */
  modelSizes?: (
    provider: string,
    model: string,
  ) => { windowTokens: number; thresholdTokens: number } | undefined;
  /** Tells of a `provider/model` whether it is known to be free. Default: of none. */
  isFree?: (model: string) => boolean;
  /** Whose session it was. Default: "Bonsai". */
  program?: string;
}

/** A session as a page shows it. Reads, and writes nothing. */
export class SessionPage {
  readonly #session: Session;
  readonly #options: PageOptions;

  constructor(session: Session, options: PageOptions = {}) {
    this.#session = session;
    this.#options = options;
  }

  /** Everything but the bodies, as the session is now. */
  data(): PageData {
    const session = this.#session;
    const numbers = new Map<string, number>();
    const data: PageData = {
      session: {
        id: session.id,
        startedAt: session.header.timestamp,
        cwd: session.cwd,
        program: this.#options.program ?? "Bonsai",
        costUsd: null,
        costText: "",
      },
      rows: { ids: [], parents: [], kinds: [], times: [], previews: [], tokens: [], flags: [] },
      leaf: -1,
      labels: [],
      chunks: [],
      requests: [],
      compactions: [],
      models: [],
      redacted: 0,
    };
    if (session.name !== undefined) data.session.name = session.name;
    const used = new UsageCounter();
    const { rows } = data;
    for (const { entry } of session.scan()) {
      used.add(entry);
      const row = rows.ids.length;
      rows.ids.push(entry.id);
      rows.parents.push(entry.parentId === null ? -1 : (numbers.get(entry.parentId) ?? -1));
      rows.kinds.push(rowKinds.indexOf(kindOf(entry)));
      rows.times.push(Date.parse(entry.timestamp) || 0);
      rows.previews.push([...entryTexts(entry)].join(" ").replaceAll(/\s+/g, " ").slice(0, 120));
      rows.tokens.push(0);
      rows.flags.push(0);
      numbers.set(entry.id, row);
    }
    data.session.costText = costText(used.cost.cost(this.#options.isFree));
    data.leaf = session.leafId === null ? -1 : (numbers.get(session.leafId) ?? -1);
    for (const [id, label] of session.labels()) {
      const row = numbers.get(id);
      if (row !== undefined) data.labels.push([row, label]);
    }
    for (let first = 0; first < rows.ids.length; first += 64)
      data.chunks.push({ first, count: Math.min(64, rows.ids.length - first) });
    return data;
  }

  /** The bodies of a chunk's rows. */
  bodies({ first, count }: ChunkPlace): EntryBody[] {
    return this.#session
      .entries()
      .slice(first, first + count)
      .map((entry) => ({
        parts: [{ type: "markdown", text: [...entryTexts(entry)].join("\n\n") }],
      }));
  }
}

function kindOf(entry: Entry): RowKind {
  if (entry.type === "message") {
    const role = entry.message?.role;
    if (role === "user" || role === "assistant") return role;
    return role === "toolResult" ? "result" : role === "bashExecution" ? "command" : "note";
  }
  if (entry.type === "compaction") return "compaction";
  return entry.type === "branch_summary" ? "branch summary" : "custom";
}

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callsIn, estimateTokens, type Message, messageText } from "@bonsai-agent/messages";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";
import { type BenchTable, recordedSession } from "@bonsai-agent/testkit";
import {
  type AnnotatedSession,
  annotatedSessions,
  type Fact,
  pathIndex,
} from "../../compaction/bench/annotated.ts";
import { neededTerms, requestTexts } from "../../lab/src/needed-terms.ts";
import { recallTool } from "../src/recall/recall-tool.ts";
import { agentSettings } from "../src/settings.ts";

const HITS = 3;
const KEPT_TOKENS = 8_000;
const CUTS = 10;
const [FIRST_CUT, LAST_CUT] = [0.25, 0.75];

/** A request, and what of the hidden past it needs. */
interface Question {
  query: string;
  needed: readonly string[];
}

interface Measured {
  needed: number;
  found: number;
  shown: number;
  foundNaively: number;
  queries: number;
  tokens: number;
  ms: number;
}

/** The share of what a later request needs that stands in the first hits of a query made of that request's own words. */
export default async function bench(): Promise<BenchTable> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-recall-"));
  try {
    const rows: string[][] = [];
    const of = { later: nothing(), sentence: nothing() };
    for (const annotated of annotatedSessions()) {
      const { messages, facts } = statedFacts(annotated);
      const played = new Played(messages, { folder });
      await played.measure(laterRequests(messages, facts), of.later);
      await played.measure(factSentences(messages, facts), of.sentence);
      played.close();
    }
    rows.push(row("annotated sessions: requests that end a fact", of.later));
    rows.push(row("annotated sessions: the fact's sentence without its values", of.sentence));
    const recorded = await recordedDay(folder);
    if (recorded !== undefined) rows.push(row("recorded day: later requests", recorded));
    return {
      title: "Recall: what a later request needs, among the first three hits",
      columns: ["asked for", "needed", "found", "in the lines shown", "newest first", "tokens a query", "ms"],
      rows,
      notes: [
        "found: in the entry of a hit, or in what is shown of it; a result is shown with its call.",
        `Hidden: all but the last ${KEPT_TOKENS} tokens before the request. A query is the request as it stands.`,
        "newest first: the newest entries that hold the longest word of the query.",
      ],
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function nothing(): Measured {
  return { needed: 0, found: 0, shown: 0, foundNaively: 0, queries: 0, tokens: 0, ms: 0 };
}

function row(name: string, { needed, queries, ...of }: Measured): string[] {
  const share = (part: number) => (part / Math.max(1, needed)).toFixed(2);
  return [
    name,
    `${needed} in ${queries}`,
    ...[share(of.found), share(of.shown), share(of.foundNaively)],
    (of.tokens / Math.max(1, queries)).toFixed(0),
    (of.ms / Math.max(1, queries)).toFixed(0),
  ];
}

/** A question with its place in the session: before this message. */
interface Placed extends Question {
  at: number;
}

/** A session that is compacted right before each question. */
class Played {
  readonly #messages: readonly Message[];
  readonly #session: Session;
  readonly #ids: string[];
  readonly #search: SessionSearch;
  static #files = 0;

  constructor(messages: readonly Message[], { folder }: { folder: string }) {
    this.#messages = messages;
    Played.#files += 1;
    const file = join(folder, `${Played.#files}.jsonl`);
    this.#session = createSession({ cwd: folder, file });
    this.#ids = this.#session
      .append(messages.map((message) => ({ type: "message", message: message as never })))
      .map(({ id }) => id);
    this.#search = new SessionSearch({ home: folder, index: false });
  }

  close(): void {
    this.#search.close();
    this.#session.close();
  }

  /** First message that is kept where the context ends at another. */
  keptFrom(at: number): number {
    let tokens = 0;
    let from = at;
    while (from > 0 && tokens < KEPT_TOKENS) {
      from -= 1;
      tokens += estimateTokens(JSON.stringify(this.#messages[from]));
    }
    while (from > 0 && this.#messages[from]!.role === "toolResult") from -= 1;
    return from;
  }

  /** Texts of the hidden messages, by entry. */
  hidden(at: number): ReadonlyMap<string, string> {
    return new Map(
      this.#messages.slice(0, this.keptFrom(at)).map((each, n) => [this.#ids[n]!, textOf(each)]),
    );
  }

  async measure(questions: readonly Placed[], sum: Measured): Promise<void> {
    const tool = recallTool({
      session: this.#session,
      home: this.#session.cwd,
      settings: agentSettings().recall,
      search: this.#search,
    });
    for (const { at, query, needed } of questions) {
      const firstKeptEntryId = this.#ids[this.keptFrom(at)]!;
      const draft = { type: "compaction", summary: "…", firstKeptEntryId, tokensBefore: 1 } as const;
      this.#session.append(draft, { under: this.#ids[at - 1]! });
      const texts = this.hidden(at);
      const begun = performance.now();
      const result = await tool.execute({
        toolCallId: "bench",
        input: { query, limit: HITS },
        signal: new AbortController().signal,
        onUpdate: () => {},
      });
      sum.ms += performance.now() - begun;
      const shown = result.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
      const { recalled } = result.details as { recalled: string[] };
      const holds = (ids: readonly string[], term: string) => ids.some((id) => texts.get(id)!.includes(term));
      const naive = newestFirst(texts, query);
      sum.queries += 1;
      sum.needed += needed.length;
      sum.found += needed.filter((term) => holds(recalled, term) || shown.includes(term)).length;
      sum.shown += needed.filter((term) => shown.includes(term)).length;
      sum.foundNaively += needed.filter((term) => holds(naive, term)).length;
      sum.tokens += estimateTokens(shown);
      if (process.env.BENCH_MISSED !== undefined)
        for (const term of needed)
          if (!holds(recalled, term) && !shown.includes(term))
            console.error(`missed ${JSON.stringify(term)} by ${JSON.stringify(query)}\n${shown}\n`);
    }
  }
}

function newestFirst(texts: ReadonlyMap<string, string>, query: string): string[] {
  const words = query.match(/[\p{L}\p{N}_./-]+/gu) ?? [];
  const [longest = ""] = words.toSorted((a, b) => b.length - a.length);
  const holding = [...texts].filter(([, text]) => text.toLowerCase().includes(longest.toLowerCase()));
  return holding
    .slice(-HITS)
    .reverse()
    .map(([id]) => id);
}

function textOf(message: Message): string {
  const calls = callsIn(message).map(({ name, arguments: args }) => {
    return `${name} ${Object.values(args)
      .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
      .join("\n")}`;
  });
  return [messageText(message), ...calls].join("\n");
}

/** A fact with its values, and the messages that state it and end it. */
interface StatedFact {
  text: string;
  values: string[];
  at: number;
  clearedAt: number | undefined;
}

function statedFacts(annotated: AnnotatedSession): { messages: Message[]; facts: StatedFact[] } {
  const onPath = pathIndex(annotated.entries);
  const entries = annotated.entries.filter(({ id, type }) => onPath.has(id) && type === "message");
  const messages = entries.map(({ message }) => message!);
  const indexOf = (id: string | undefined) => entries.findIndex((entry) => entry.id === id);
  const facts = annotated.facts.flatMap(({ text, must, stated, cleared }: Fact): StatedFact[] => {
    const [at, clearedAt] = [indexOf(stated), indexOf(cleared)];
    if (at === -1) return [];
    const statement = textOf(messages[at]!);
    const values = must.flatMap((group) => group.find((word) => statement.includes(word)) ?? []);
    return values.length === 0
      ? []
      : [{ text, values, at, ...(clearedAt > at ? { clearedAt } : { clearedAt: undefined }) }];
  });
  return { messages, facts };
}

/** The requests that end a fact: the user withdraws or changes it, or the command runs again. */
function laterRequests(messages: readonly Message[], facts: readonly StatedFact[]): Placed[] {
  return facts.flatMap(({ values, at, clearedAt }) => {
    if (clearedAt === undefined) return [];
    // If a result ends it, the call before that result is the request.
    const from = messages[clearedAt]!.role === "toolResult" ? clearedAt - 1 : clearedAt;
    const request = messages[from]!;
    const query = request.role === "user" ? requestTexts(request).join("\n") : textOf(request);
    return isHidden(messages, { at, from }) ? [{ at: from, query: ends(query), needed: values }] : [];
  });
}

/** The beginning and the end: a request can follow a long paste. */
function ends(text: string): string {
  return text.length <= 600 ? text : `${text.slice(0, 300)}\n${text.slice(-300)}`;
}

/** Each fact asked for by the other words of its sentence. */
function factSentences(messages: readonly Message[], facts: readonly StatedFact[]): Placed[] {
  return facts.flatMap(({ text, values, at }) => {
    const query = values.reduce((rest, value) => rest.replaceAll(value, " "), text).trim();
    const from = messages.length;
    return query.length > 5 && isHidden(messages, { at, from }) ? [{ at: from, query, needed: values }] : [];
  });
}

function isHidden(messages: readonly Message[], { at, from }: { at: number; from: number }): boolean {
  const between = messages.slice(at + 1, from).map((message) => JSON.stringify(message));
  return estimateTokens(between.join("\n")) > KEPT_TOKENS + 4_000;
}

async function recordedDay(folder: string): Promise<Measured | undefined> {
  const source = recordedSession();
  if (source === undefined) return undefined;
  const file = join(folder, "recorded.jsonl");
  copyFileSync(source, file);
  const session = openSession(file);
  const messages = session.projection().items.map(({ message }) => message);
  session.close();
  const sum = nothing();
  const played = new Played(messages, { folder });
  for (let cut = 0; cut < CUTS; cut += 1) {
    const place = FIRST_CUT + ((LAST_CUT - FIRST_CUT) * cut) / (CUTS - 1);
    const at = Math.floor(messages.length * place);
    await played.measure(futureOf(messages, at, played), sum);
  }
  played.close();
  return sum;
}

/** Requests of the recorded future for texts of the past that were not kept. */
function futureOf(messages: readonly Message[], at: number, played: Played): Placed[] {
  const keptFrom = played.keptFrom(at);
  const hidden = messages.slice(0, keptFrom).map(textOf).join("\n");
  const kept = messages.slice(keptFrom, at).map(textOf).join("\n");
  const asked = new Set<string>();
  return messages.slice(at).flatMap((message): Placed[] => {
    const query = requestTexts(message).join("\n");
    if (asked.has(query)) return [];
    asked.add(query);
    const needed = neededTerms(hidden, [message]).filter((term) => !kept.includes(term));
    return needed.length === 0 ? [] : [{ at, query, needed }];
  });
}

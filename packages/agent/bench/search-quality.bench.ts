import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { callsIn, type Message, messageText } from "@bonsai-agent/messages";
import { SessionSearch } from "@bonsai-agent/session/search";
import type { BenchTable } from "@bonsai-agent/testkit";
import { annotatedSessions, pathIndex } from "../../compaction/bench/annotated.ts";
import { isFactShown, normal } from "../../compaction/bench/fact-windows.ts";

const QUESTIONS = new URL("search-questions.json", import.meta.url);
const WORKDAY = new URL("../../../examples/workday.jsonl", import.meta.url);
/** Messages of one session file. A conversation has several session files in one folder. */
const SESSION_MESSAGES = 20;

interface MessageEntry {
  type: string;
  id: string;
  parentId: string | null;
  timestamp: string;
  message: Message;
}

interface Turn {
  entry: MessageEntry;
  text: string;
  /** Number of the message's session within the conversation. */
  session: number;
}

interface Question {
  query: string;
  isAnswer: (turn: Turn) => boolean;
}

interface Conversation {
  name: string;
  turns: Turn[];
  questions: Question[];
}

/** Searches one conversation. Returns ids of entries, best first. */
type Find = (query: string) => Promise<string[]>;

const WAYS: [string, (turns: readonly Turn[], folder: string) => Promise<Find>][] = [
  ["plain FTS5: porter, OR, bm25", plainFts],
  ["bonsai search", bonsaiSearch],
];

/** Counts questions with the answer among the first hits. Tune weights only on the first half of the questions. */
export default async function bench(): Promise<BenchTable> {
  const conversations = readConversations();
  const rows: string[][] = [];
  for (const [name, open] of WAYS) {
    const halves = [new Found(), new Found()];
    for (const conversation of conversations) {
      const folder = mkdtempSync(join(tmpdir(), "bonsai-quality-"));
      const find = await open(conversation.turns, folder);
      for (const [at, question] of conversation.questions.entries())
        halves[at % 2]!.add(conversation, question, await find(question.query));
      rmSync(folder, { recursive: true });
    }
    rows.push([name, "tuned", ...halves[0]!.figures()], [name, "held out", ...halves[1]!.figures()]);
  }
  return {
    title: "Questions in natural language, in seven languages",
    columns: [
      ...["search", "half", "questions", "first", "turn in 5", "turn in 10", "session first", "session in 5"],
    ],
    rows,
  };
}

class Found {
  #count = 0;
  readonly #sums = [0, 0, 0, 0, 0];

  add({ turns, name }: Conversation, { query, isAnswer }: Question, ids: readonly string[]): void {
    const byId = new Map(turns.map((turn) => [turn.entry.id, turn]));
    const hits = ids.flatMap((id) => byId.get(id) ?? []);
    const sessions = [...new Set(hits.map(({ session }) => session))];
    const answering = new Set(turns.filter(isAnswer).map(({ session }) => session));
    const isIn = (count: number) => hits.slice(0, count).some(isAnswer);
    const isSessionIn = (count: number) => sessions.slice(0, count).some((each) => answering.has(each));
    this.#count += 1;
    for (const [at, is] of [isIn(1), isIn(5), isIn(10), isSessionIn(1), isSessionIn(5)].entries())
      this.#sums[at]! += is ? 1 : 0;
    if (process.env.BENCH_MISSED !== undefined && !isIn(10)) console.error(`${name}: ${query}`);
  }

  figures(): string[] {
    return [`${this.#count}`, ...this.#sums.map((sum) => (sum / this.#count).toFixed(3))];
  }
}

function readConversations(): Conversation[] {
  const all = JSON.parse(readFileSync(QUESTIONS, "utf8")) as Record<string, [string, number | string][]>;
  return Object.entries(all).map(([name, asked]) => {
    if (name === "workday") {
      const lines = readFileSync(WORKDAY, "utf8").trimEnd().split("\n");
      const turns = turnsOf(lines.map((line) => JSON.parse(line)));
      const questions = asked.map(([query, id]) => ({
        query,
        isAnswer: ({ entry }: Turn) => entry.id === id,
      }));
      return { name, turns, questions };
    }
    const [{ entries, facts }] = annotatedSessions([name]) as [ReturnType<typeof annotatedSessions>[number]];
    const onPath = pathIndex(entries);
    const turns = turnsOf(entries.filter(({ id }) => onPath.has(id)) as MessageEntry[]);
    const questions = asked.map(([query, fact]) => {
      const { stated, must } = facts[fact as number]!;
      const isAnswer = ({ entry, text }: Turn) => entry.id === stated || isFactShown(normal(text), must);
      return { query, isAnswer };
    });
    return { name, turns, questions };
  });
}

function turnsOf(entries: readonly MessageEntry[]): Turn[] {
  const messages = entries.filter(({ type }) => type === "message");
  return messages.map((entry, at) => ({
    entry,
    text: textOf(entry.message),
    session: Math.floor(at / SESSION_MESSAGES),
  }));
}

function textOf(message: Message): string {
  const calls = callsIn(message).map(({ name, arguments: args }) => {
    const values = Object.values(args).map((value) =>
      typeof value === "string" ? value : JSON.stringify(value),
    );
    return [name, ...values].join("\n");
  });
  return [messageText(message), ...calls].join("\n");
}

async function plainFts(turns: readonly Turn[]): Promise<Find> {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE turn USING fts5 (body, tokenize = 'porter unicode61')");
  const insert = database.prepare("INSERT INTO turn (rowid, body) VALUES (?, ?)");
  for (const [at, { text }] of turns.entries()) insert.run(at, text);
  const select = database.prepare("SELECT rowid AS at FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT 50");
  return async (query) => {
    const words = query.match(/[\p{L}\p{N}]+/gu) ?? [];
    const rows = select.all(words.map((word) => `"${word}"`).join(" OR "));
    return rows.map(({ at }) => turns[at as number]!.entry.id);
  };
}

async function bonsaiSearch(turns: readonly Turn[], folder: string): Promise<Find> {
  const sessions = join(folder, "sessions/-conversation");
  mkdirSync(sessions, { recursive: true });
  for (const [number, part] of Map.groupBy(turns, ({ session }) => session)) {
    const { timestamp } = part[0]!.entry;
    const header = { type: "session", version: 3, id: `part-${number}`, timestamp, cwd: "/conversation" };
    const lines = [header, ...part.map(({ entry }) => entry)].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(sessions, `${String(number).padStart(4, "0")}_part-${number}.jsonl`), lines.join(""));
  }
  const search = new SessionSearch({ home: folder });
  await search.catchUp();
  return async (query) => {
    const { hits } = await search.find(query, { limit: 50 });
    return hits.map(({ entryId }) => entryId);
  };
}

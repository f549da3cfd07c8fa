// Runs in a process of its own: `node tasks.mjs '{"task": …}'`. It has no imports but types, so that a task
// loads only what it measures.
import { openSync, readdirSync, readFileSync, statSync, writeSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";

type SessionPackage = typeof import("@bonsai-agent/session");
type SearchPackage = typeof import("@bonsai-agent/session/search");

/** The part of pi's SessionManager that is measured. */
interface PeerManager {
  getLeafId(): string;
  appendMessage(message: object): string;
  buildSessionContext(): { messages: unknown[] };
  createBranchedSession(leafId: string): string;
  getTree(): unknown[];
  getEntries(): unknown[];
}

interface PeerPackage {
  SessionManager: {
    open(file: string, folder?: string): PeerManager;
    list(cwd: string, folder: string): Promise<Array<{ name?: string; firstMessage: string }>>;
  };
}

export interface TaskInput {
  task: TaskName;
  /** URLs of the packages under measurement. */
  session: string;
  peer: string;
  file: string;
  folder: string;
  out: string;
  count: number;
  query: string;
}

/** The measured part; what it returns is compared between ways. */
type Work = () => string | Promise<string>;

const tasks = {
  bare: async () => () => "",
  loaded: async (input) => {
    await sessionPackage(input);
    return () => "";
  },
  "open naive": async ({ file }) => {
    return () => `${parseAll(file).length - 1} entries`;
  },
  "open ours": async (input) => {
    const { openSession } = await sessionPackage(input);
    return () => {
      const session = openSession(input.file);
      return `${session.projection().items.length} messages`;
    };
  },
  "open peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    return () => `${SessionManager.open(input.file).buildSessionContext().messages.length} messages`;
  },
  "tree ours": async (input) => {
    const { openSession } = await sessionPackage(input);
    return () => `${openSession(input.file).tree().entries.length} entries`;
  },
  "tree peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    return () => {
      const session = SessionManager.open(input.file);
      session.getTree();
      return `${session.getEntries().length} entries`;
    };
  },
  "index ours": async (input) => {
    const { openSession } = await sessionPackage(input);
    return () => `${openSession(input.file).index().count} entries`;
  },
  "append ours": async (input) => {
    const { openSession } = await sessionPackage(input);
    const session = openSession(input.file);
    return () => {
      for (let n = 0; n < input.count; n++) session.append({ type: "message", message: message(n) });
      session.close();
      return `${input.count} appended`;
    };
  },
  "append naive": async ({ file, count }) => {
    const fd = openSync(file, "a");
    return () => {
      for (let n = 0; n < count; n++) writeSync(fd, `${JSON.stringify(message(n))}\n`);
      return `${count} appended`;
    };
  },
  "append peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    const session = SessionManager.open(input.file);
    return () => {
      for (let n = 0; n < input.count; n++) session.appendMessage(message(n));
      return `${input.count} appended`;
    };
  },
  "turns ours": async (input) => {
    const { openSession } = await sessionPackage(input);
    const session = openSession(input.file);
    session.projection();
    return () => {
      let items = 0;
      for (let n = 0; n < input.count; n++) {
        session.append({ type: "message", message: message(n) });
        items = session.projection().items.length;
      }
      return `${items} messages`;
    };
  },
  "turns peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    const session = SessionManager.open(input.file);
    return () => {
      let items = 0;
      for (let n = 0; n < input.count; n++) {
        session.appendMessage(message(n));
        items = session.buildSessionContext().messages.length;
      }
      return `${items} messages`;
    };
  },
  "fork ours": async (input) => {
    const { openSession, forkSession } = await sessionPackage(input);
    return () => sizeOf(forkSession(openSession(input.file), { folder: input.folder }));
  },
  "fork peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    return () => {
      const session = SessionManager.open(input.file, input.folder);
      return sizeOf(session.createBranchedSession(session.getLeafId()));
    };
  },
  "list naive": async ({ folder }) => {
    return () => `${readdirSync(folder).map((name) => parseAll(`${folder}/${name}`)).length} sessions`;
  },
  "list ours": async (input) => {
    const { listSessions } = await sessionPackage(input);
    return () => `${listSessions({ folder: input.folder }).sessions.length} sessions`;
  },
  "search indexing": async (input) => {
    const { SearchThread } = await searchPackage(input);
    const search = new SearchThread({ home: input.folder });
    return async () => {
      const gaps = monitorEventLoopDelay({ resolution: 1 });
      gaps.enable();
      const state = await search.catchUp();
      return `${state}, this thread held up for ${Math.round(gaps.max / 1e6)} ms at most`;
    };
  },
  "search index": async (input) => {
    const { SessionSearch } = await searchPackage(input);
    const search = new SessionSearch({ home: input.folder });
    return async () => foundIn(await search.find(input.query));
  },
  "search scan": async (input) => {
    const { SessionSearch } = await searchPackage(input);
    const search = new SessionSearch({ home: input.folder, index: false });
    return async () => foundIn(await search.find(input.query));
  },
  "list peer": async (input) => {
    const { SessionManager } = await peerPackage(input);
    return async () => `${(await SessionManager.list("/home/dev/shop", input.folder)).length} sessions`;
  },
} satisfies Record<string, (input: TaskInput) => Promise<Work>>;

export type TaskName = keyof typeof tasks;

async function sessionPackage(input: TaskInput): Promise<SessionPackage> {
  return (await import(input.session)) as SessionPackage;
}

async function searchPackage(input: TaskInput): Promise<SearchPackage> {
  return (await import(new URL("search/index.js", input.session).href)) as SearchPackage;
}

function foundIn({ hits, more }: { hits: readonly unknown[]; more: boolean }): string {
  return `${hits.length} hits${more ? " and more" : ""}`;
}

async function peerPackage(input: TaskInput): Promise<PeerPackage> {
  return (await import(input.peer)) as PeerPackage;
}

/** The naive way: reads the whole file and parses each line. */
function parseAll(file: string): unknown[] {
  const bytes = readFileSync(file);
  const entries: unknown[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(10, start);
    const end = newline < 0 ? bytes.length : newline;
    if (end > start) entries.push(JSON.parse(bytes.toString("utf8", start, end)));
    start = end + 1;
  }
  return entries;
}

function sizeOf(file: string): string {
  return `${Math.round(statSync(file).size / 1e6)} MB written`;
}

function message(n: number) {
  const text = `Answer ${n}: the tests of src/orders/price.ts pass, 14 of 14.`;
  return { role: "user" as const, content: [{ type: "text" as const, text }], timestamp: n };
}

const input = JSON.parse(process.argv[2]!) as TaskInput;
const work: Work = await tasks[input.task](input);
globalThis.gc?.();
const start = performance.now();
const result = await work();
const ms = performance.now() - start;
console.log(JSON.stringify({ ms, peakBytes: process.resourceUsage().maxRSS * 1024, result }));

import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { messageSchema } from "@bonsai-agent/messages/schemas";
import { type CatalogueModel, ModelClient } from "@bonsai-agent/models";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import type { WireName } from "@bonsai-agent/testkit";
import type { RunResult } from "../src/events.ts";
import { openAgent } from "../src/open-agent.ts";
import { agentSettings } from "../src/settings.ts";
import { type FaultName, misbehavingServer } from "../test/misbehaving-server.ts";

/** How a run against a misbehaving server ended, and what it left. */
export interface FaultOutcome {
  status: RunResult["status"];
  /** The code of the error; absent without one. */
  code?: string;
  message?: string;
  /** Requests that reached the server or timed out before. */
  requests: number;
  /** Codes, each once, in the order in which they came. */
  notices: string[];
  /** Problems of the session's file and of its messages. */
  problems: string[];
  /** The answer of a healthy server to the next prompt, in the reopened session. */
  next: string;
}

export interface RunFaultOptions {
  wire: WireName;
  fault: FaultName;
  /** The run gets its own folder in this one. */
  folder: string;
}

/** A person waits minutes for what these faults never bring. */
const shortMs = 40;
const longMs = 60_000;

/**
 * Lets an agent with the built-in tools work with a server that misbehaves, then go on with one that does not.
 * Each run has its own server, so runs can be concurrent.
 */
export async function runFault({ wire, fault, folder }: RunFaultOptions): Promise<FaultOutcome> {
  const server = await misbehavingServer();
  const cwd = mkdtempSync(join(folder, "run-"));
  const file = join(cwd, "session.jsonl");
  const notices = new Set<string>();
  let retries = 0;
  const place = {
    cwd,
    url: server.url,
    wire,
    onNotice: (code: string) => void notices.add(code),
    onRetry: () => {
      retries += 1;
    },
  };
  try {
    server.misbehave(fault);
    const result = await said(createSession({ cwd, file }), "Look at the trees.", {
      ...place,
      ...waits(fault),
    });
    const requests = Math.max(server.requests.length, 1 + retries);
    server.misbehave(undefined);
    const problems = problemsOf(file);
    const next = await said(openSession(file), "Go on.", { ...place, silenceMs: longMs, contentMs: longMs });
    return {
      status: result.status,
      ...(result.error && { code: result.error.code, message: result.error.message }),
      requests,
      notices: [...notices],
      problems,
      next:
        next.status === "done" && next.answer
          ? messageText(next.answer)
          : (next.error?.message ?? next.status),
    };
  } finally {
    await server.close();
    rmSync(cwd, { recursive: true });
  }
}

function waits(fault: FaultName): { silenceMs: number; contentMs: number } {
  return {
    silenceMs: fault.startsWith("stall") ? shortMs : longMs,
    contentMs: fault.startsWith("pings") ? shortMs : longMs,
  };
}

interface Place {
  cwd: string;
  url: string;
  wire: WireName;
  silenceMs: number;
  contentMs: number;
  onNotice: (code: string) => void;
  onRetry: () => void;
}

async function said(session: Session, text: string, place: Place): Promise<RunResult> {
  const { cwd, url, wire, silenceMs, contentMs, onNotice, onRetry } = place;
  const model: CatalogueModel = {
    provider: "lab",
    id: "model-1",
    name: "Model",
    api: wire,
    baseUrl: url,
    input: ["text"],
    reasoning: true,
    contextWindow: 100_000,
    maxOutputTokens: 8_000,
  };
  const settings = agentSettings({
    titles: false,
    instructionFiles: [],
    limits: { runRequests: 6 },
  });
  const models = new ModelClient({
    retry: { maxRetries: 1, baseDelayMs: 0, silenceMs, contentMs },
    sleep: async () => onRetry(),
  });
  const agent = await openAgent({
    session,
    cwd,
    home: join(cwd, "home"),
    settings,
    models,
    model,
    onNotice: ({ code }) => onNotice(code),
  });
  try {
    return await agent.prompt(text);
  } finally {
    await agent.close();
  }
}

function problemsOf(file: string): string[] {
  const session = openSession(file);
  const odd = session.entries().flatMap((entry) => {
    if (entry.type !== "message") return [];
    const { error } = messageSchema.safeParse(entry.message);
    return error === undefined ? [] : [`${entry.message.role}: ${error.issues[0]?.message}`];
  });
  session.close();
  return [
    ...openSession(file)
      .problems()
      .map(({ kind }) => kind),
    ...odd,
  ];
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { redoLatestUndo, undoLatestCompaction } from "@bonsai-agent/compaction";
import { contentText } from "@bonsai-agent/messages";
import {
  createSession,
  type Entry,
  forkSession,
  openSession,
  type Session,
  storedProviderSummary,
} from "@bonsai-agent/session";
import { type CompactionServer, compactionServer, fewRuns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { firstSent, type ServedAgent, type ServedModels, servedAgent, usualAnswer } from "./served-agent.ts";

const names = ["claude", "otherClaude", "gpt", "local"] as const satisfies (keyof ServedModels)[];

type Step =
  | { do: "work" | "compact" | "undo" | "redo" | "fork" }
  | { do: "model"; model: (typeof names)[number] }
  | { do: "move" | "edit"; at: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.constant<Step>({ do: "work" }) },
    { weight: 3, arbitrary: fc.constant<Step>({ do: "compact" }) },
    fc.constantFrom<Step>({ do: "undo" }, { do: "redo" }, { do: "fork" }),
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("model" as const), model: fc.constantFrom(...names) }),
    },
    fc.record({ do: fc.constantFrom("move" as const, "edit" as const), at: fc.nat() }),
  ),
  { minLength: 5, maxLength: 12 },
);

/** Runs the steps against one server, in one session and its forks. */
class Journey {
  readonly #folder: string;
  readonly #server: CompactionServer;
  #run: ServedAgent | undefined;
  #facts = 0;
  /** Checked requests by form. */
  readonly sent = { withBlock: 0, readable: 0 };
  #model: (typeof names)[number] = "claude";

  constructor(folder: string, server: CompactionServer) {
    this.#folder = folder;
    this.#server = server;
  }

  async begin(session: Session): Promise<void> {
    this.#run = await servedAgent({ served: this.#server, session });
    await this.#run.agent.setModel(this.#run.models[this.#model]);
  }

  get session(): Session {
    return this.#run!.session;
  }

  async take(step: Step): Promise<void> {
    const { session } = this;
    const { agent, models } = this.#run!;
    switch (step.do) {
      case "work":
        await this.say("Explain");
        break;
      case "compact":
        await agent.compact();
        break;
      case "undo":
        await undoLatestCompaction({ session, contextSize: () => agent.state.context }).catch(ignoreNothing);
        break;
      case "redo":
        await redoLatestUndo({ session, contextSize: () => agent.state.context }).catch(ignoreNothing);
        break;
      case "model":
        this.#model = step.model;
        await agent.setModel(models[step.model]);
        break;
      case "move": {
        const ends = session.path().filter(isEndOfTurn);
        if (ends.length > 0) session.moveTo(ends[step.at % ends.length]!.id);
        break;
      }
      case "edit": {
        const answers = session.path().filter(isEndOfTurn);
        const targetId = answers[step.at % Math.max(1, answers.length)]?.id;
        const content = [{ type: "text" as const, text: "Edited." }];
        if (targetId !== undefined)
          session.append({ type: "context_edit", targetId, replacement: { content } });
        break;
      }
      case "fork": {
        const file = forkSession(session, { folder: this.#folder });
        await agent.close();
        await this.begin(openSession(file));
      }
    }
  }

  /** A prompt with a fact of its own. Its answer shows what was sent. */
  async say(verb: string): Promise<void> {
    this.#facts += 1;
    await this.#run!.say(`${verb} fact${this.#facts} of the tree${this.#facts}.`);
  }

  async end(): Promise<void> {
    await this.#run?.agent.close();
  }

  /** Asserts that the latest request had every fact of its path, and a block exactly if its model can read it. */
  check(): void {
    const { session } = this;
    const { json, hasBlock } = firstSent(this.#server);
    const { compaction, items } = session.projection();
    // Beside a very short span, a summary as text may leave the user's words to the record.
    const recorded = hasBlock ? "" : JSON.stringify(compaction?.details ?? "");
    for (const fact of factsOf(session.path())) if (!recorded.includes(fact)) expect(json).toContain(fact);
    const stored = compaction && storedProviderSummary(compaction);
    const { id, provider } = this.#run!.agent.model;
    const isOwn = stored?.model === id && stored.provider === provider;
    const [first] = items;
    const isValid = first?.message.role === "compactionSummary" && first.message.provider !== undefined;
    expect(hasBlock).toBe(isOwn && isValid);
    this.sent[hasBlock ? "withBlock" : "readable"] += 1;
    if (hasBlock) for (const item of stored!.items) expect(json).toContain(JSON.stringify(item));
    expect(this.#run!.notices.filter(({ code }) => code !== "model_retry")).toEqual([]);
  }
}

function isEndOfTurn(entry: Entry): boolean {
  return entry.type === "message" && entry.message.role === "assistant";
}

function factsOf(path: readonly Entry[]): string[] {
  return path.flatMap((entry) => {
    if (entry.type !== "message" || entry.message.role !== "user") return [];
    return contentText(entry.message.content).match(/fact\d+/g) ?? [];
  });
}

function ignoreNothing(error: { code?: string }): void {
  if (
    error.code !== "nothing_to_undo" &&
    error.code !== "nothing_to_redo" &&
    error.code !== "redo_not_possible"
  )
    throw error;
}

test("no order of models, undos, moves, forks and edits loses a fact or sends a block that does not fit", async () => {
  const sent = { withBlock: 0, readable: 0 };
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const folder = mkdtempSync(join(tmpdir(), "bonsai-provider-"));
      const server = await compactionServer({ answer: usualAnswer });
      const journey = new Journey(folder, server);
      try {
        await journey.begin(createSession({ cwd: folder, file: join(folder, "session.jsonl") }));
        await journey.say("Explain");
        for (const step of taken) {
          await journey.take(step);
          await journey.say("Note");
          journey.check();
        }
      } finally {
        sent.withBlock += journey.sent.withBlock;
        sent.readable += journey.sent.readable;
        await journey.end();
        await server.close();
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    fewRuns(6),
  );
  expect(Math.min(sent.withBlock, sent.readable)).toBeGreaterThan(5);
}, 240_000);

import { answerHook } from "./run.ts";

/** Answers one call of another agent on standard input and output. The launcher calls it. */
export async function main(agent: string | undefined, home: string): Promise<void> {
  // The agent may close the pipe early.
  process.stdout.on("error", () => {});
  const pieces: Buffer[] = [];
  for await (const piece of process.stdin) pieces.push(piece);
  const input = Buffer.concat(pieces).toString("utf8");
  process.stdout.write(answerHook({ agent, input, home, nowMs: Date.now }));
}

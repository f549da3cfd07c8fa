import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message } from "@bonsai-agent/messages";
import type { TranscriptItem } from "@bonsai-agent/testkit";

let calls = 0;

const message = (fields: object) => ({ timestamp: 0, ...fields }) as unknown as Message;

export function says(role: "user" | "assistant", text: string): Message {
  return message({ role, content: [{ type: "text", text }] });
}

/** A command and its result. */
export function runs(command: string, output: string, isError = false): Message[] {
  const id = `call-${calls++}`;
  const content = [{ type: "toolCall", id, name: "Bash", arguments: { command } }];
  return [
    message({ role: "assistant", content }),
    message({
      role: "toolResult",
      toolCallId: id,
      toolName: "Bash",
      content: [{ type: "text", text: output }],
      isError,
    }),
  ];
}

/** Work with two actions, a failure and the user's conditions. */
export const work: TranscriptItem[] = [
  says("user", "Move the invoices to EUR, and never round before the last step."),
  ...runs("git push origin release-7", "pushed release-7"),
  ...runs("npm publish", "+ billing@2.4.0"),
  ...runs("pnpm test billing", "Exit code 1\nAssertionError: expected 19.99 to be 20.00", true),
  says("assistant", "The tax rate comes from `loadTaxRate` in src/billing/tax-table.ts."),
];

/** States all of the work but the publishing and the conditions. */
export const summary = {
  summary: [
    "The invoices are moved to EUR.",
    "- Ran `git push origin release-7`.",
    "- `pnpm test billing` fails: expected 19.99 to be 20.00",
    "The rate is in src/billing/tax-table.ts.",
  ].join("\n"),
};

/** A folder with a home of Bonsai and a transcript. */
export class HookFolder {
  readonly folder = mkdtempSync(join(tmpdir(), "bonsai-hook-"));
  readonly home = join(this.folder, "bonsai");
  readonly transcript = join(this.folder, "session-1.jsonl");

  writeTranscript(text: string): void {
    writeFileSync(this.transcript, text);
  }

  /** Writes the transcript of Claude Code's summariser. */
  writeCompactor(text: string): void {
    const folder = join(this.folder, "session-1", "subagents");
    mkdirSync(folder, { recursive: true });
    const answer = { type: "assistant", message: { role: "assistant", content: [{ type: "text", text }] } };
    writeFileSync(join(folder, "agent-acompact-1.jsonl"), `${JSON.stringify(answer)}\n`);
  }
}

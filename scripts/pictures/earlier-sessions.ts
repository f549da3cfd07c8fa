import { utimesSync } from "node:fs";
import type { Studio } from "./studio.ts";

const sessions: readonly [name: string | undefined, first: string, answer: string, day: string][] = [
  ["Totals a cent short", "Totals are a cent short. Mend it.", "Mended, the test is green.", "05T16:41"],
  [undefined, "Write a changelog for 2.3", "Here it is: three fixes and one feature.", "05T11:02"],
  ["Refused codes", "Which discount codes fail?", "SPRING expired on Monday night.", "04T17:30"],
  [undefined, "The cart is slow with 500 items", "It summed the cart for every row.", "03T09:12"],
  ["日本語の領収書", "Receipts in Japanese", "領収書を追加しました。", "02T15:48"],
];

/** Sessions of other days in the project. */
export function earlierSessions(studio: Studio): void {
  for (const [at, [name, first, answer, day]] of sessions.entries()) {
    const timestamp = `2026-01-${day}:00.000Z`;
    const id = `5e551011-0000-4000-8000-00000000000${at}`;
    const message = (self: string, parentId: string | null, fields: object) => ({
      ...{ type: "message", id: self, parentId, timestamp },
      message: { timestamp: Date.parse(timestamp), ...fields },
    });
    const usage = { input: 2_400, output: 160, cacheRead: 0, cacheWrite: 0, totalTokens: 2_560 };
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const said = { role: "assistant", content: [{ type: "text", text: answer }], stopReason: "stop" };
    const by = { api: "scripted", provider: "local", model: "oak", usage: { ...usage, cost } };
    const lines = [
      { type: "session", version: 3, id, timestamp, cwd: studio.project },
      message(`aaaa000${at}`, null, { role: "user", content: first }),
      message(`bbbb000${at}`, `aaaa000${at}`, { ...said, ...by }),
      ...(name === undefined
        ? []
        : [{ type: "session_info", id: `cccc000${at}`, parentId: `bbbb000${at}`, timestamp, name }]),
    ];
    const folder = `.bonsai/sessions/${studio.project.replaceAll(/[/\\:]/g, "-")}`;
    const file = studio.write(
      `${folder}/${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`,
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    utimesSync(file, new Date(timestamp), new Date(timestamp));
  }
}

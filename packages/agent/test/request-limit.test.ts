import { messageText } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import type { ConfirmMoreRequests } from "../src/run/queue.ts";
import { calls, roles, scriptedAgent } from "./scripted-agent.ts";

/** A model that calls a tool at every request, and says something beside it. */
function restless(options: { runRequests?: number; confirmMoreRequests?: ConfirmMoreRequests } = {}) {
  const { runRequests = 4, confirmMoreRequests } = options;
  return scriptedAgent({
    turn: (_call, count) =>
      count > 40 ? { text: "Enough." } : calls({ text: `${count}` }, { text: "Once more." }),
    settings: { limits: { runRequests } },
    ...(confirmMoreRequests === undefined ? {} : { confirmMoreRequests }),
  });
}

describe("a run that nobody says a word to", () => {
  test("ends after so many requests where nobody can be asked, and the next prompt goes on", async () => {
    const { agent, session, turns } = restless();
    const result = await agent.prompt("go");
    expect(result).toMatchObject({ status: "failed", error: { code: "run_request_limit" } });
    expect(result.error?.message).toContain("4 requests without your input");
    expect(turns.length).toBe(4);
    const messages = session.projection().items.map(({ message }) => message);
    expect(roles(messages).slice(-2)).toEqual(["assistant", "toolResult"]);
    expect(await agent.prompt("go on")).toMatchObject({ error: { code: "run_request_limit" } });
    expect(turns.length).toBe(8);
    expect(session.problems()).toEqual([]);
  });

  test("goes on for as many requests again when the user says so", async () => {
    const asked: number[] = [];
    const { agent, turns } = restless({
      confirmMoreRequests: async ({ requests }) => {
        asked.push(requests);
        return asked.length < 3;
      },
    });
    expect(await agent.prompt("go")).toMatchObject({
      status: "failed",
      error: { code: "run_request_limit" },
    });
    expect([asked, turns.length]).toEqual([[4, 4, 4], 12]);
  });

  test("is counted anew from what the user says meanwhile, not from what an extension says", async () => {
    const steered = (source: "interactive" | "extension") => {
      const parts = scriptedAgent({
        turn: (_call, count) => {
          if (count === 3) void parts.agent.prompt("And mind the roots.", { behavior: "steer", source });
          return calls({ text: `${count}` });
        },
        settings: { limits: { runRequests: 4 } },
      });
      return parts;
    };
    const byUser = steered("interactive");
    await byUser.agent.prompt("go");
    expect(byUser.turns.length).toBe(7);
    const byExtension = steered("extension");
    await byExtension.agent.prompt("go");
    expect(byExtension.turns.length).toBe(4);
  });

  test("has no limit at 0, and a stop while it is asked is a stop", async () => {
    const endless = restless({ runRequests: 0 });
    const result = await endless.agent.prompt("go");
    expect([result.status, messageText(result.answer!), endless.turns.length]).toEqual([
      "done",
      "Enough.",
      41,
    ]);
    const stopped = restless({
      confirmMoreRequests: ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(false));
          void stopped.agent.abort();
        }),
    });
    expect(await stopped.agent.prompt("go")).toMatchObject({ status: "aborted" });
  });
});

test("an answer without a word ends the run with its own code, in a session that goes on", async () => {
  const { agent, session, turns, notices } = scriptedAgent({
    turn: [calls(), { thinking: "Hm." }, { text: "Here I am." }],
  });
  const result = await agent.prompt("go");
  expect(result).toMatchObject({ status: "failed", error: { code: "answer_empty" } });
  expect([turns.length, notices]).toEqual([2, []]);
  expect(session.problems()).toEqual([]);
  expect(messageText((await agent.prompt("Go on.")).answer!)).toBe("Here I am.");
});

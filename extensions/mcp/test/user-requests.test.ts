import { expect, test } from "vitest";
import { asked, choosing, form, openServer, steersTerminal } from "./asking-server.ts";

test("a server that asks too often is declined with one notice until the next prompt", async () => {
  await using asker = await openServer({ ui: { select: choosing(...Array(60).fill("Decline")) } });
  const { server, session, requests } = asker;
  for (let count = 0; count < 30; count++) await server.elicitInput(form({}));
  expect(asked(session, "select")).toHaveLength(20);
  expect(asked(session, "notify")).toHaveLength(1);
  requests.newPrompt();
  await server.elicitInput(form({}));
  expect(asked(session, "select")).toHaveLength(21);
});

test("a server has at most three open questions", async () => {
  const open: ((answer: undefined) => void)[] = [];
  await using asker = await openServer({
    ui: { select: () => new Promise((resolve) => open.push(resolve)) },
  });
  const answers = Array.from({ length: 5 }, () => asker.server.elicitInput(form({})));
  expect(await Promise.race(answers.slice(3))).toEqual({ action: "decline" });
  expect(open).toHaveLength(3);
  for (const answer of open) answer(undefined);
  await Promise.all(answers);
});

test("the user blocks the questions of a server", async () => {
  await using asker = await openServer({ ui: { select: choosing("Decline, and block this server") } });
  expect(await asker.server.elicitInput(form({}))).toEqual({ action: "decline" });
  expect(await asker.server.elicitInput(form({}))).toEqual({ action: "decline" });
  await expect(asker.server.createMessage(sample)).rejects.toThrow("declined");
  expect(asked(asker.session, "select")).toHaveLength(1);
});

const page = { mode: "url", message: "Pay here", elicitationId: "1" } as const;

test("a page opens after the user has seen its address", async () => {
  await using asker = await openServer({ ui: { select: choosing("Open", "Decline", undefined) } });
  const { server, session, opened } = asker;
  const url = "https://pay.example.com/now?a=1";
  expect(await server.elicitInput({ ...page, url })).toMatchObject({ action: "accept" });
  expect(asked(session, "select")[0]![0]).toBe(
    `MCP server asker asks you to open a page on pay.example.com:\nPay here\n${url}`,
  );
  expect(await server.elicitInput({ ...page, url })).toEqual({ action: "decline" });
  expect(await server.elicitInput({ ...page, url })).toEqual({ action: "cancel" });
  expect(opened).toEqual([url]);
});

test("only http and https pages open", async () => {
  await using asker = await openServer({ ui: {} });
  const answer = await asker.server.elicitInput({ ...page, url: "file:///etc/passwd" });
  expect(answer).toEqual({ action: "decline" });
  expect(asker.opened).toEqual([]);
  expect(asked(asker.session, "notify")).toHaveLength(1);
});

const sample = {
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "What is 6 times 7?" } }],
  systemPrompt: "Be short.",
  maxTokens: 100,
};

test("a server asks the model after the user has seen the request and its cost", async () => {
  await using asker = await openServer({ ui: { confirm: true }, replies: ["42"] });
  expect(await asker.server.createMessage(sample)).toMatchObject({
    content: { type: "text", text: "42" },
    model: "test",
    stopReason: "endTurn",
  });
  const [[title, message] = []] = asked(asker.session, "confirm");
  expect(title).toBe("MCP server asker wants to ask scripted/test");
  expect(message).toMatch(/about 1\d tokens, the answer at most 100\. Cost: at most \$0\.00\d+\./);
  expect(message).toContain("[System prompt]: Be short.\n\n[user]: What is 6 times 7?");
  expect(asker.session.requests.at(-1)).toMatchObject({ purpose: "extension", systemPrompt: "Be short." });
});

test("a refused request does not reach the model, and its text cannot steer the terminal", async () => {
  await using asker = await openServer({ ui: { confirm: false } });
  const text = "\u001b[2Jhidden\u202e";
  const messages = [{ role: "user" as const, content: { type: "text" as const, text } }];
  await expect(asker.server.createMessage({ ...sample, messages })).rejects.toThrow(
    "The user declined this request to the model.",
  );
  expect(asker.session.requests).toEqual([]);
  expect(steersTerminal(String(asked(asker.session, "confirm")[0]![1]))).toBe(false);
});

test("without a user, a server learns that it cannot ask", async () => {
  await using asker = await openServer();
  const { server, session } = asker;
  expect(server.getClientCapabilities()).toEqual({ roots: {} });
  await expect(server.elicitInput(form({}))).rejects.toThrow("does not support");
  await expect(server.createMessage(sample)).rejects.toThrow();
  const { roots } = await server.listRoots();
  expect(roots).toEqual([{ uri: `file://${session.cwd}`, name: session.cwd.split("/").at(-1) }]);
});

test("an entry can hide the project's folder from its server", async () => {
  await using asker = await openServer({ hasRoots: false });
  expect(asker.server.getClientCapabilities()).toEqual({});
  await expect(asker.server.listRoots()).rejects.toThrow();
});

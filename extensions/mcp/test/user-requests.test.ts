import { expect, test } from "vitest";
import { asked, choosing, form, openServer } from "./asking-server.ts";

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

test("without a user, a server learns that it cannot ask", async () => {
  await using asker = await openServer();
  const { server, session } = asker;
  expect(server.getClientCapabilities()).toEqual({ roots: {} });
  await expect(server.elicitInput(form({}))).rejects.toThrow("does not support");
  const { roots } = await server.listRoots();
  expect(roots).toEqual([{ uri: `file://${session.cwd}`, name: session.cwd.split("/").at(-1) }]);
});

test("an entry can hide the project's folder from its server", async () => {
  await using asker = await openServer({ hasRoots: false });
  expect(asker.server.getClientCapabilities()).toEqual({});
  await expect(asker.server.listRoots()).rejects.toThrow();
});

import { listSessions, openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { InteractiveContext } from "../../src/interactive/interactive-context.ts";
import { navigateFlow } from "../../src/interactive/tree/flow.ts";
import { sampleLines, writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

async function openSample() {
  const file = writeLines(sampleLines());
  const opened = openInteractive({ columns: 80, rows: 32, argv: ["--session", file] });
  await opened.terminal.until("Done: the total");
  const forked = () =>
    listSessions({ home: opened.project.home, cwd: opened.project.cwd })
      .sessions.filter((each) => each.file !== file)
      .map((each) => openSession(each.file));
  return { ...opened, file, forked };
}

test("/fork goes on in a new session before a message, whose text is in the editor", async () => {
  const { terminal, file, forked } = await openSample();
  terminal.type("/fork\n");
  await terminal.until("Fork from which message?");
  terminal.press("enter");
  const screen = await terminal.until("new session");
  expect(screen).not.toContain("Done: the total");
  const [fork] = forked();
  const path = openSession(file).path();
  const latest = path.findLast((entry) => entry.type === "message" && entry.message.role === "user");
  expect(fork?.leafId).toBe(latest?.parentId);
  expect(openSession(file).leafId).toBe("cccc0007");
});

test("the first row of /fork copies the whole session", async () => {
  const { terminal, file, forked } = await openSample();
  terminal.type("/fork\n");
  await terminal.until("Fork from which message?");
  terminal.press("up");
  await terminal.until(/^ › Whole session, up to the latest message/m);
  terminal.press("enter");
  const screen = await terminal.until("This is a copy");
  expect(screen).toContain("Done: the total");
  const ids = (session: ReturnType<typeof openSession> | undefined) => session?.path().map(({ id }) => id);
  expect(ids(forked()[0])).toEqual(ids(openSession(file)));
});

test("/clone is a hidden alias that copies at once", async () => {
  const { terminal, forked } = await openSample();
  terminal.type("/clone\n");
  await terminal.until("This is a copy");
  expect(forked()).toHaveLength(1);
});

test("a session without a message cannot be forked", async () => {
  const { terminal } = openInteractive({ columns: 80, rows: 32 });
  await terminal.until("scripted");
  terminal.type("/fork\n");
  await terminal.until("no message to fork from");
});

/** What the flow touches, without a terminal. */
function fakeWork(typed: string, agent: object) {
  const notices: string[] = [];
  let text = typed;
  const work = {
    host: { agent: { session: { entry: () => undefined }, model: { id: "m" }, ...agent }, app: { cwd: "." } },
    screen: { redraw: () => {} },
    chat: { rebuild: () => notices.push("rebuilt") },
    editor: {
      offerText: (offered: string) => {
        if (text !== "") return false;
        text = offered;
        return true;
      },
    },
    notify: (message: string) => notices.push(message),
    interruptible: (task: (signal: AbortSignal) => unknown) => task(new AbortController().signal),
  } as unknown as InteractiveContext;
  return { work, notices, text: () => text };
}

test("a template's message comes into the editor as it was typed", async () => {
  const message = { role: "user", content: "Review src.", typed: "/review src", timestamp: 0 };
  const navigate = async () => ({ status: "moved", editorText: "Review src." });
  const session = { entry: () => ({ type: "message", message }) };
  const { work, text } = fakeWork("", { navigate, session });
  await navigateFlow(work, "u1", {});
  expect(text()).toBe("/review src");
});

test("acceptance 33: a message fills an empty editor only", () =>
  everyRow([
    ["", "try again", "try again"],
    ["typed already", "try again", "typed already"],
  ])(async ([typed, editorText, expected]) => {
    const navigate = async () => ({ status: "moved", editorText });
    const { work, notices, text } = fakeWork(typed, { navigate });
    await navigateFlow(work, "u1", {});
    expect(text()).toBe(expected);
    expect(notices[0]).toBe("rebuilt");
    expect(notices.slice(1).join()).toEqual(
      typed === "" ? "" : expect.stringContaining("stays in the editor"),
    );
  }));

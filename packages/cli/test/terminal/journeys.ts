import { expect, test } from "vitest";
import { agentProject, says } from "../agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { killBonsai, type LiveOptions, type LiveTerminal, type OpenLive } from "./live-terminal.ts";

/** Longer than any test: what is done in the middle of it is done in the middle, however slow the machine is. */
const story = { text: `Begun. ${"And then. ".repeat(2_000)}`, delayMs: 50, chunkChars: 12 };
const summary = modelSummary("What there is to say.");

/** What users do all day, on a real terminal. @param open which kind of terminal */
export function journeys(open: OpenLive): void {
  /** Waits for the footer: from there on a user knows where they are. */
  async function started(options: LiveOptions): Promise<LiveTerminal> {
    const terminal = open(options);
    await terminal.until("scripted");
    return terminal;
  }

  test("the conversation stays in the scrollback after Ctrl-C twice", async () => {
    const terminal = await started({ project: agentProject(says("The answer is 42.")) });
    terminal.type("What is it?\n");
    await terminal.until("The answer is 42.");
    terminal.press("ctrl+c", "ctrl+c");
    await terminal.until("ended with 0");
    expect(terminal.scrollback()).toContain("What is it?");
    expect(terminal.scrollback()).toContain("Continue with bonsai");
  });

  test("text typed into the first editor is sent once the session is open", async () => {
    const terminal = open({ project: agentProject(says("The answer is 42.")) });
    await terminal.until("───");
    terminal.type("What is it?\n");
    await terminal.until("The answer is 42.");
    terminal.press("ctrl+d");
    await terminal.until("ended with 0");
  });

  test("Esc returns a queued message to the editor, from which it is sent", async () => {
    const project = agentProject({ contextWindow: 100_000, turn: [story, { text: "Short." }] });
    const terminal = await started({ project });
    terminal.type("Tell me\n");
    await terminal.until("Begun.");
    terminal.type("Be short\n");
    await terminal.until("Next: Be short");
    terminal.resize(50, 20);
    await terminal.until((screen) => screen.match(/^─{50}$/gm)?.length === 2);
    terminal.resize(100, 30);
    await terminal.until((screen) => screen.match(/^─{100}$/gm)?.length === 2);
    terminal.press("esc");
    await terminal.until(/─\n+\s*Be short\s*\n─/);
    terminal.press("enter");
    await terminal.until("Short.");
    terminal.type("/quit\n");
    await terminal.until("ended with 0");
  });

  test("/tree returns to a message and puts it into the editor", async () => {
    const answers = ["One", "Two", "Three"].map((word) => ({ text: `Answer ${word}.` }));
    const terminal = await started({
      project: agentProject({ contextWindow: 100_000, turn: answers }),
      rows: 40,
    });
    await asks(terminal, "First question", "Answer One.");
    await asks(terminal, "Second question", "Answer Two.");
    terminal.type("/tree\n");
    await terminal.until("Session tree");
    terminal.press("up", "enter");
    await terminal.until(/No summary/i);
    terminal.press("enter");
    await terminal.until(
      (screen) => /─\n+\s*Second question\s*\n─/.test(screen) && !screen.includes("Answer Two."),
    );
    terminal.press("ctrl+u");
    await asks(terminal, "Another question", "Answer Three.");
    expect(terminal.screen()).not.toContain("Answer Two.");
  });

  test("/compact, /fork and /resume work one after the other", async () => {
    const turn = ["One", "Two", "Three"].map(long);
    const said = { text: summary };
    const project = agentProject({ contextWindow: 30_000, turn, summary: [said, said] });
    const terminal = await started({ project, rows: 40 });
    await asks(terminal, "First question", "End One.");
    await asks(terminal, "Second question", "End Two.");
    await asks(terminal, "Third question", "End Three.");
    terminal.type("/compact\n");
    await terminal.until("Compacted from");
    terminal.type("/fork\n");
    await terminal.until("Fork from which message?");
    terminal.press("down");
    terminal.press("enter");
    await terminal.until("This is a new session");
    terminal.press("ctrl+u");
    terminal.type("/resume\n");
    await terminal.until(/^ 1\/2$/m);
    // The fork began last, and stands first.
    terminal.press("down");
    await terminal.until(/^ 2\/2$/m);
    terminal.press("enter");
    await terminal.until("End Three.");
  });

  test("Esc cancels a compaction, and a queued message is answered", async () => {
    const turn = [...["One", "Two"].map(long), { text: "Here I am." }];
    const slow = [{ text: summary, delayMs: 60_000 }];
    const project = agentProject({ contextWindow: 30_000, turn, summary: slow });
    const terminal = await started({ project, rows: 40 });
    await asks(terminal, "First question", "End One.");
    await asks(terminal, "Second question", "End Two.");
    terminal.type("/compact\n");
    await terminal.until("Esc to cancel");
    terminal.type("Are you there?\n");
    await terminal.until("Next: Are you there?");
    terminal.press("esc");
    await terminal.until("Here I am.");
    expect(terminal.scrollback()).not.toContain("Compacted from");
  });

  test("-c continues and compacts after kill -9 during a compaction", async () => {
    const turn = ["One", "Two"].map(long);
    const slow = [{ text: summary, delayMs: 60_000 }];
    const project = agentProject({ contextWindow: 30_000, turn, summary: slow });
    const first = await started({ project, rows: 40 });
    await asks(first, "First question", "End One.");
    await asks(first, "Second question", "End Two.");
    first.type("/compact\n");
    await first.until("Esc to cancel");
    killBonsai(project);
    await first.until("ended with 137");
    const quick = agentProject({ ...says("Here."), contextWindow: 30_000, summary: [{ text: summary }] });
    const second = open({ project: { ...project, model: quick.model }, argv: ["-c"], rows: 40 });
    await second.until("End Two.");
    expect(second.scrollback()).not.toContain("Compacted from");
    second.type("/compact\n");
    await second.until("Compacted: ");
  });
}

function long(word: string): { text: string } {
  return { text: `Answer ${word}. ${"Long. ".repeat(2_500)}End ${word}.` };
}

async function asks(terminal: LiveTerminal, question: string, answer: string): Promise<void> {
  terminal.type(`${question}\n`);
  await terminal.until(answer);
}

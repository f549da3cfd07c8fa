import { spawn } from "node:child_process";
import { BonsaiError } from "@bonsai-agent/messages";

/** Programs that take a text on their input, the likeliest first. */
const programs: readonly (readonly [string, ...string[]])[] =
  process.platform === "darwin"
    ? [["pbcopy"]]
    : process.platform === "win32"
      ? [["clip"]]
      : [
          ["wl-copy"],
          ["xclip", "-selection", "clipboard"],
          ["xsel", "--clipboard", "--input"],
          ["termux-clipboard-set"],
        ];

/** @throws BonsaiError `pi_clipboard_missing` where no program of the system takes a text */
export async function copyToClipboard(text: string): Promise<void> {
  for (const program of programs) if (await copied(program, text)) return;
  throw new BonsaiError({
    code: "pi_clipboard_missing",
    message: `No clipboard took the text; tried ${programs.map(([name]) => name).join(", ")}.`,
    hint: "Install one of them.",
  });
}

function copied([name, ...args]: readonly [string, ...string[]], text: string): Promise<boolean> {
  return new Promise((done) => {
    const child = spawn(name, args, { stdio: ["pipe", "ignore", "ignore"] });
    child.on("error", () => done(false));
    child.on("exit", (code) => done(code === 0));
    // A program that ends before it has read is told by its exit.
    child.stdin.on("error", () => {});
    child.stdin.end(text);
  });
}

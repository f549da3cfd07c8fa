import { once } from "node:events";
import { startProcess } from "@bonsai-agent/agent";
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

async function copied([command, ...args]: readonly [string, ...string[]], text: string): Promise<boolean> {
  const child = await startProcess({ command, args, stdio: ["pipe", "ignore", "ignore"] }).catch(notThere);
  if (child === undefined) return false;
  // A program that ends before it has read is told by its exit.
  child.stdin!.end(text);
  const [code] = await once(child, "exit");
  return code === 0;
}

/** Another program may be there; where none could be started, no other could. */
function notThere(error: Error): undefined {
  const { code } = error.cause as NodeJS.ErrnoException;
  if (code !== "ENOENT" && code !== "EACCES" && code !== "ENOEXEC") throw error;
}

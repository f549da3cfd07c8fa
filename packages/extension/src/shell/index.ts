export { type ShellCommand, type ShellRedirect, shellCommands } from "./shell-commands.ts";
export type { ShellWord } from "./shell-word.ts";

export { runInteractive } from "./interactive-mode.ts";

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { EVENTS_DOCUMENT, eventsDocument } from "./docs/events-document.ts";

// Writes the lower part of docs/events.md anew: `pnpm events-table`.
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
writeFileSync(`${root}/${EVENTS_DOCUMENT}`, eventsDocument(root));

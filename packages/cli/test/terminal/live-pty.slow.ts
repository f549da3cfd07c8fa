import { journeys } from "./journeys.ts";
import { openPty } from "./pty.ts";

journeys(openPty);

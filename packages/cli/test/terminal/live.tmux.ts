import { journeys } from "./journeys.ts";
import { openTmux } from "./tmux.ts";

journeys(openTmux);

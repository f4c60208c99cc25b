/**
 * `npm run test:race -- --runs N --seed=S --path P --only "one service"`: the race tests, more of them or one of them
 * again.
 */
import { runSeeded } from "../../support/seededRuns.ts"

runSeeded("test/system/race", "ATOLL_RACE")

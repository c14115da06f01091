"""The blocks of a judge: its part in the report of a run, and its report card; imports what `report` may."""

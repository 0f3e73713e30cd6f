//! Tests of what the facade lists, in one test program.

mod bad_arguments;
mod main_job;

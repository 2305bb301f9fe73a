// Blocked operations in Rust. Usage: ways NAME OBJECT. The line that makes one carries HERE and the way's name.
use std::env;
use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

trait Opens {
    fn opens(&self) -> bool;
}

struct Named(String);

impl Opens for Named {
    #[inline(never)]
    fn opens(&self) -> bool {
        fs::File::open(&self.0).is_ok() // HERE method
    }
}

#[inline(never)]
fn generic<P: AsRef<std::path::Path>>(path: P) -> bool {
    fs::read(path).is_ok() // HERE generic
}

#[inline(never)]
fn creates(path: &str) -> bool {
    fs::File::create(path).map(|mut file| file.write_all(b"1").is_ok()).is_ok() // HERE creates
}

#[inline(never)]
fn removes(path: &str) -> bool {
    fs::remove_file(path).is_ok() // HERE removes
}

#[inline(never)]
fn makes_folder(path: &str) -> bool {
    fs::create_dir(path).is_ok() // HERE makes_folder
}

#[inline(never)]
fn connects(address: &str) -> bool {
    TcpStream::connect(address).is_ok() // HERE connects
}

#[inline(never)]
fn listens(address: &str) -> bool {
    TcpListener::bind(address).is_ok() // HERE listens
}

#[inline(never)]
fn starts(program: &str) -> bool {
    Command::new(program).status().is_ok() // HERE starts
}

#[inline(never)]
fn in_thread(path: String) -> bool {
    let worker = thread::spawn(move || {
        fs::File::open(&path).is_ok() // HERE in_thread
    });
    worker.join().unwrap_or(false)
}

struct Dropped(String);

impl Drop for Dropped {
    #[inline(never)]
    fn drop(&mut self) {
        let _ = fs::File::open(&self.0); // HERE dropped
    }
}

#[inline(never)]
fn dropped(path: &str) -> bool {
    let _kept = Dropped(path.to_string());
    path.len() > 1
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let object = words[2].as_str();
    let done = match words[1].as_str() {
        "method" => (Box::new(Named(object.to_string())) as Box<dyn Opens>).opens(),
        "generic" => generic(object),
        "creates" => creates(object),
        "removes" => removes(object),
        "makes_folder" => makes_folder(object),
        "connects" => connects(object),
        "listens" => listens(object),
        "starts" => starts(object),
        "in_thread" => in_thread(object.to_string()),
        "dropped" => dropped(object),
        _ => false,
    };
    println!("{}", done);
}
